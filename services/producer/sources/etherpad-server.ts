/**
 * A pad on an Etherpad server, for reading: its content now, and a feed of what follows a revision. Each is a connection
 * of its own, and neither comes back by itself.
 *
 * A feed always resumes (`reconnect`, `client_rev`), never joins: Etherpad enters a resuming client into the pad before
 * it looks at what it lacks, so nothing falls between; a joining client may miss an edit that is made meanwhile.
 */
import type { Clock } from '../../shared/clock.js';
import { clientReady, parsePadMessage, type PadChange, type PadContent, type PadMessage } from './etherpad-messages.js';
import { SocketIoConnection, type EngineVersion } from './socket-io.js';

/** A feed that holds more than so many revisions ... */
const MAX_QUEUED_REVISIONS = 10_000;
/** ... or more than this of their texts ends, and what follows is asked for again. */
const MAX_QUEUED_CHARACTERS = 16 * 1024 * 1024;

export type PadErrorCode =
  /** The connection was lost, refused or not answered. */
  | 'disconnected'
  /** Etherpad refuses the pad, or has ended the session. */
  | 'refused'
  /** What it sent is not what the protocol promises. */
  | 'malformed'
  /** The pad has fewer revisions than the room. */
  | 'behind'
  /** The pad's revisions do not follow those of the room. */
  | 'mismatch'
  /** The feed brought more than is held at once. */
  | 'overrun';

/** What a pad's server did not do. Always worth another attempt. */
export class PadError extends Error {
  override readonly name = 'PadError';
  constructor(
    readonly code: PadErrorCode,
    message: string,
  ) {
    super(message);
  }
}

export interface PadServerParts {
  /** Of the Etherpad server, http(s) or ws(s). May hold credentials. */
  readonly url: string;
  readonly pad: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

export class PadServer {
  private readonly url: URL;
  /** As the last connection that worked found it; forgotten at a failure, in case the server is another now. */
  private version: EngineVersion | undefined;

  constructor(private readonly parts: PadServerParts) {
    this.url = new URL(parts.url);
    this.url.protocol = this.url.protocol.replace('http', 'ws');
    this.url.pathname = `${this.url.pathname.replace(/\/+$/u, '')}/socket.io/`;
    this.url.searchParams.set('padId', parts.pad);
  }

  /** The pad's content now. Throws PadError. */
  read(signal: AbortSignal): Promise<PadContent> {
    const { pad } = this.parts;
    return new Promise((resolve, reject) => {
      const settle = (settled: () => void) => {
        signal.removeEventListener('abort', stop);
        exchange.close();
        settled();
      };
      const stop = () => {
        settle(() => {
          reject(new PadError('disconnected', 'stopped'));
        });
      };
      const exchange = this.exchange(clientReady(pad), {
        isAnswer: (message) => {
          if (message.kind !== 'content') return false;
          settle(() => {
            resolve(message.content);
          });
          return true;
        },
        onEnd: (error) => {
          settle(() => {
            reject(error);
          });
        },
      });
      signal.addEventListener('abort', stop);
      if (signal.aborted) stop();
    });
  }

  /** What follows revision `after`. `onNews` is called when the feed has changed. */
  follow(after: number, onNews: () => void): PadFeed {
    return new PadFeed(after, onNews, (handlers) => this.exchange(clientReady(this.parts.pad, after), handlers));
  }

  private exchange(ready: unknown, handlers: ExchangeHandlers): { close: () => void } {
    const { timeoutMs, clock } = this.parts;
    let cancelAnswer: (() => void) | undefined;
    const close = () => {
      cancelAnswer?.();
      connection.close();
    };
    const fail = (code: PadErrorCode, reason: string) => {
      close();
      this.version = undefined;
      handlers.onEnd(new PadError(code, reason));
    };
    const connection = new SocketIoConnection({
      url: this.url,
      version: this.version,
      timeoutMs,
      clock,
      onConnected: (version) => {
        this.version = version;
        connection.send(ready);
        cancelAnswer = clock.after(timeoutMs, () => {
          fail('disconnected', `Etherpad did not answer for the pad within ${timeoutMs} ms`);
        });
      },
      onMessage: (payload) => {
        const message = parsePadMessage(payload);
        if (message.kind === 'refused') fail('refused', message.reason);
        else if (message.kind === 'malformed') fail('malformed', message.what);
        else if (handlers.isAnswer(message)) cancelAnswer?.();
      },
      onEnd: (reason) => {
        fail('disconnected', reason);
      },
    });
    return { close };
  }
}

interface ExchangeHandlers {
  /** Takes the message, and says whether it is what was asked for. */
  readonly isAnswer: (message: PadMessage) => boolean;
  readonly onEnd: (error: PadError) => void;
}

/** Consecutive revisions, each once; what is queued can be taken after the end as well. */
export class PadFeed {
  private readonly queue: PadChange[] = [];
  private queuedCharacters = 0;
  private last: number;
  private over: PadError | undefined;
  private hasAnswered = false;
  private readonly exchange: { close: () => void };

  constructor(
    after: number,
    private readonly onNews: () => void,
    open: (handlers: ExchangeHandlers) => { close: () => void },
  ) {
    this.last = after;
    this.exchange = open({
      isAnswer: (message) => {
        if (message.kind !== 'change' && message.kind !== 'no-changes') return false;
        this.hasAnswered = true;
        if (message.kind === 'change') this.take(message.change);
        this.onNews();
        return true;
      },
      onEnd: (error) => {
        this.end(error);
      },
    });
  }

  /** Why it has ended, if it has. */
  get ended(): PadError | undefined {
    return this.over;
  }

  /** Whether Etherpad has said what followed. */
  get answered(): boolean {
    return this.hasAnswered;
  }

  /** The next revisions, at most `revisions`, and not many more than `characters` of changesets. */
  next(revisions: number, characters: number): readonly PadChange[] {
    let count = 0;
    let taken = 0;
    while (count < Math.min(revisions, this.queue.length) && taken < characters) {
      taken += sizeOf(this.queue[count]);
      count += 1;
    }
    return this.queue.slice(0, count);
  }

  /** Drops those up to `rev`, which the room has. */
  drop(rev: number): void {
    const kept = this.queue.findIndex((change) => change.rev > rev);
    for (const change of this.queue.splice(0, kept === -1 ? this.queue.length : kept)) {
      this.queuedCharacters -= sizeOf(change);
    }
  }

  close(): void {
    this.exchange.close();
  }

  private take(change: PadChange): void {
    // After a resume Etherpad sends the same revisions once more at the next edit.
    if (change.rev <= this.last || this.over !== undefined) return;
    if (change.rev > this.last + 1) {
      this.end(new PadError('malformed', `revision ${change.rev} came after revision ${this.last}`));
      return;
    }
    if (this.queue.length >= MAX_QUEUED_REVISIONS || this.queuedCharacters > MAX_QUEUED_CHARACTERS) {
      this.end(new PadError('overrun', `${this.queue.length} revisions wait to be published`));
      return;
    }
    this.last = change.rev;
    this.queue.push(change);
    this.queuedCharacters += sizeOf(change);
  }

  private end(error: PadError): void {
    this.over ??= error;
    this.exchange.close();
    this.onNews();
  }
}

/** About what a change takes: its attributes are few beside that, or as long. */
function sizeOf(change: PadChange | undefined): number {
  if (change === undefined) return 0;
  let size = change.changeset.length;
  for (const [name, value] of Object.values(change.apool.numToAttrib)) size += name.length + value.length;
  return size;
}
