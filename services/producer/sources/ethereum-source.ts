/**
 * Publishes the blocks of an Ethereum node to a room, as revisions with the data of ethereum-block.ts.
 *
 *   node announces a head ─▶ "there is more" ─▶ compare with the room's chain ─▶ append the next blocks ─┐
 *                                                    ▲                          │ conflict: read on       │
 *                                                    └──────────────────────────┴─────────────────────────┘
 *
 * It is pull-based: an announcement only wakes the loop, so nothing queues while the log or the node is away.
 * Invariant: an append names the revision that it expects to follow and is made of what the room was read to hold up to
 * there. So a block is published once, however often the source is restarted, retried or doubled; several sources on one
 * room each append what the others have not. The key is of the block's hash and that revision: a chain that returns to a
 * block that was replaced publishes it again. What can be mended by waiting is waited for, for ever, and logged once;
 * anything else is a fault, which ends the source.
 */
import { asError, RevcastError } from '../../shared/errors.js';
import type { Running } from '../../shared/lifecycle.js';
import type { Logger } from '../../shared/logger.js';
import { Backoff, type BackoffLimits } from './backoff.js';
import { blockData, type BlockNotes } from './ethereum-block.js';
import { EthereumNode, type Announced } from './ethereum-node.js';
import type { EthereumValues } from './ethereum-settings.js';
import { NodeError } from './json-rpc.js';
import { nextBlocks, type NextBlocks } from './next-blocks.js';
import type { PublishedChain } from './published-chain.js';
import { PublishedRoom } from './published-room.js';
import { isRetryable, type OnFault, type SourceParts } from './source.js';
import { Wakeup } from './wakeup.js';

const RETRY: BackoffLimits = { firstMs: 200, maxMs: 15_000 };
/** So often a missing block is asked for without a word in the log: behind a load balancer that is everyday. */
const QUIET_LOOKS = 3;
/** So often an announced block that the node does not have is asked for before the announcement is forgotten. */
const ANNOUNCED_LOOKS = 6;
/** So often in a row blocks must be found that were not announced before the subscription is taken for dead. */
const UNANNOUNCED_FINDS = 2;

export interface EthereumSourceParts extends SourceParts {
  readonly settings: EthereumValues;
  /** Told once, after which the source has stopped. */
  readonly onFault: OnFault;
  /** Waits between attempts, of the connection and of the loop. */
  readonly retry?: BackoffLimits;
}

export class EthereumSource implements Running {
  private readonly logger: Logger;
  private readonly node: EthereumNode;
  private readonly room: PublishedRoom;
  private readonly news: Wakeup;
  private readonly halt: Wakeup;
  private readonly backoff: Backoff;
  private chain: PublishedChain | undefined;
  private announced: (Announced & { looksLeft: number }) | undefined;
  /** Whether the loop looks because nothing was announced for a while. */
  private polled = false;
  /** How often in a row that look found something. */
  private unannouncedFinds = 0;
  /** What is being waited for, as it was logged. */
  private trouble: string | undefined;
  private failures = 0;
  private stopping = false;
  private running: Promise<void> | undefined;

  constructor(private readonly parts: EthereumSourceParts) {
    const { settings, log, logger, clock, retry = RETRY } = parts;
    this.logger = logger.child({ source: 'ethereum', room: settings.ethereumRoom });
    this.news = new Wakeup(clock);
    this.halt = new Wakeup(clock);
    this.backoff = new Backoff(retry);
    this.room = new PublishedRoom(settings.ethereumRoom, log, {
      // Of a chain that was reorganised, the tail holds blocks that were replaced as well.
      tailRevisions: 2 * settings.ethereumMaxReorg + 16,
      maxBlocks: settings.ethereumMaxReorg + 1,
    });
    this.node = new EthereumNode({
      url: settings.ethereumUrl,
      timeoutMs: settings.ethereumTimeoutMs,
      backoff: retry,
      clock,
      logger: this.logger,
      onReady: () => {
        this.news.wake();
      },
      onHead: (head) => {
        this.announced = { ...head, looksLeft: ANNOUNCED_LOOKS };
        this.polled = false;
        this.unannouncedFinds = 0;
        this.news.wake();
      },
    });
  }

  /** Connects and publishes until `stop`, or until a fault. Once. */
  start(): void {
    this.node.start();
    this.running ??= this.run();
  }

  /** Waits for an append under way. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.news.wake();
    this.halt.wake();
    this.node.close();
    await this.running;
  }

  private async run(): Promise<void> {
    try {
      while (!this.stopping) await this.turn();
    } catch (thrown) {
      this.node.close();
      this.parts.onFault(asError(thrown));
    }
  }

  private async turn(): Promise<void> {
    const { ethereumPollMs } = this.parts.settings;
    if (!this.node.up) {
      await this.news.wait(ethereumPollMs);
      return;
    }
    try {
      const published = await this.publishNext();
      this.mended();
      if (!published) this.polled = !(await this.news.wait(ethereumPollMs));
    } catch (error) {
      await this.waitOut(error);
    }
  }

  /** Publishes the next few blocks; false when the room has them all. */
  private async publishNext(): Promise<boolean> {
    const { settings } = this.parts;
    const chain = (this.chain ??= await this.load());
    const parts = {
      node: this.node,
      holds: (block: { height: number; hash: string }) => this.room.holds(block),
      start: settings.ethereumStart,
      maxBackfill: settings.ethereumMaxBackfill,
      maxReorg: settings.ethereumMaxReorg,
    };
    const next = await nextBlocks(parts, chain, this.announced);
    if (next === null) return false;
    if (this.stopping) return false;
    await this.append(chain, next);
    return true;
  }

  private async load(): Promise<PublishedChain> {
    const chain = await this.room.load();
    const found = { rev: chain.rev, height: chain.tip?.height };
    if (chain.tip !== undefined) this.logger.info(found, 'publishing after what the room holds');
    else if (chain.rev === 0)
      this.logger.info({ start: this.parts.settings.ethereumStart }, 'publishing to a new room');
    else this.logger.warn(found, 'the newest revisions of the room are no blocks: publishing as to a new room');
    return chain;
  }

  private async append(chain: PublishedChain, next: NextBlocks): Promise<void> {
    const [first] = next.blocks;
    if (first === undefined) return;
    const { log, settings } = this.parts;
    const startsAnew = next.reorg?.forkHeight === null;
    const revisions = next.blocks.map((block, index) => {
      const replaced = startsAnew ? undefined : chain.lastPublishedAt(block.height);
      const notes: BlockNotes = {
        ...(replaced === undefined || replaced === block.hash ? {} : { replaces: replaced }),
        ...(index === 0 && next.reorg !== undefined ? { reorg: next.reorg } : {}),
        ...(index === 0 && next.skipped !== undefined ? { skipped: next.skipped } : {}),
      };
      return { data: blockData(block, notes) };
    });
    const key = `eth:${first.hash}@${chain.rev}`;
    try {
      const appended = await log.append(settings.ethereumRoom, { revisions, key, expectedRev: chain.rev });
      if (appended.duplicate || (chain.epoch !== '' && appended.epoch !== chain.epoch)) {
        // Stored by another source, perhaps with fewer or more blocks, or under a numbering that is not known yet.
        this.chain = await this.room.refresh(chain);
        return;
      }
      chain.adopt(appended.epoch);
      next.blocks.forEach(({ height, hash }, index) => {
        const fork = index === 0 && next.reorg !== undefined ? { forkHeight: next.reorg.forkHeight } : {};
        chain.apply(appended.firstRev + index, { height, hash, ...fork });
      });
      this.tell(next);
    } catch (error) {
      if (!(error instanceof RevcastError) || error.code !== 'conflict') throw error;
      await this.readOn(chain, error);
    }
  }

  /** Someone else has appended to the room. */
  private async readOn(chain: PublishedChain, conflict: RevcastError): Promise<void> {
    const { rev } = chain;
    const fresh = await this.room.refresh(chain);
    const head = conflict.details['head'] as { epoch?: string; rev?: number } | undefined;
    // The log has lost history and numbers the room anew from its next append on; until then it shows what is left.
    const begins = head?.rev === 0 && head.epoch === '' && fresh.rev > 0;
    this.chain = begins ? fresh.renumbered() : fresh;
    if (this.chain === chain && chain.rev === rev) {
      throw new RevcastError('log_unavailable', 'the log refuses the append and does not show why yet', {
        cause: conflict,
      });
    }
  }

  private tell({ blocks, reorg, skipped }: NextBlocks): void {
    const at = { height: blocks[0]?.height, blocks: blocks.length };
    if (skipped !== undefined) {
      this.logger.warn({ ...at, skipped }, 'blocks were left out: more were missed than may be fetched');
    }
    if (reorg !== undefined) this.logger.warn({ ...at, reorg }, 'the chain was reorganised');
    this.logger.debug(at, 'published');
    if (!this.polled || !this.node.announces) return;
    this.polled = false;
    this.unannouncedFinds += 1;
    if (this.unannouncedFinds < UNANNOUNCED_FINDS) return;
    this.unannouncedFinds = 0;
    this.node.reconnect('it has new blocks and does not announce them');
  }

  private async waitOut(error: unknown): Promise<void> {
    if (!(error instanceof NodeError) && !isRetryable(error)) throw error;
    // The connection tells of that itself, and wakes the loop when it is back.
    if (this.stopping || (error instanceof NodeError && error.code === 'disconnected')) return;
    this.failures += 1;
    const isMissing = error instanceof NodeError && error.code === 'missing_block';
    if (isMissing && this.announced !== undefined) {
      this.announced.looksLeft -= 1;
      if (this.announced.looksLeft <= 0) this.announced = undefined;
    }
    if (this.trouble !== error.code && (!isMissing || this.failures > QUIET_LOOKS)) {
      this.trouble = error.code;
      this.logger.warn({ code: error.code, reason: error.message }, 'publishing waits');
    }
    await this.halt.wait(this.backoff.next());
  }

  private mended(): void {
    this.failures = 0;
    this.backoff.reset();
    if (this.trouble === undefined) return;
    this.logger.info({ waitedFor: this.trouble }, 'publishing goes on');
    this.trouble = undefined;
  }
}
