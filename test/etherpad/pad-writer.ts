/**
 * An author at a real pad: sends valid changesets of its own, one at a time, and applies what others do. An edit waits for
 * its acknowledgement, so changesets never cross. (etherpad-cli-client speaks Engine.IO 4 only, Etherpad 1.8 does not.)
 */
import { clientReady, parsePadMessage } from '../../services/producer/sources/etherpad-messages.js';
import { SocketIoConnection } from '../../services/producer/sources/socket-io.js';
import { systemClock } from '../../services/shared/clock.js';
import { newPool, PadText, randomChangeset, type AttributePool } from '../support/etherpad/changeset.js';
import type { Random } from '../support/random.js';
import { waitFor } from '../support/wait-for.js';

export class PadWriter {
  private text: PadText | undefined;
  private rev = -1;
  private author = '';
  private acknowledged = -1;
  private ended: string | undefined;
  private readonly connection: SocketIoConnection;

  private constructor(url: string, pad: string) {
    this.connection = new SocketIoConnection({
      url: new URL(`${url.replace('http', 'ws')}/socket.io/?padId=${pad}`),
      version: undefined,
      timeoutMs: 10_000,
      clock: systemClock,
      onConnected: () => {
        this.connection.send(clientReady(pad));
      },
      onMessage: (payload) => {
        this.received(payload);
      },
      onEnd: (reason) => {
        this.ended = reason;
      },
    });
  }

  static async join(url: string, pad: string): Promise<PadWriter> {
    const writer = new PadWriter(url, pad);
    await writer.until(() => writer.text !== undefined, 'the pad was opened');
    return writer;
  }

  /** Makes one edit; resolves when the pad has it. */
  async edit(random: Random): Promise<void> {
    const { text } = this;
    if (text === undefined) throw new Error('the pad was not opened');
    const pool: AttributePool = newPool();
    const changeset = randomChangeset(random, text.text, this.author, pool);
    const apool = structuredClone(pool.toJsonable());
    const expected = this.rev + 1;
    const data = { type: 'USER_CHANGES', baseRev: this.rev, changeset, apool };
    this.connection.send({ type: 'COLLABROOM', component: 'pad', data });
    await this.until(() => this.acknowledged >= expected, `revision ${expected} was acknowledged`);
    if (this.acknowledged !== expected) throw new Error(`revision ${this.acknowledged} instead of ${expected}`);
    text.apply({ changeset, apool });
    this.rev = expected;
  }

  /** Resolves when it has seen the revision. */
  async reaches(rev: number): Promise<void> {
    await this.until(() => this.rev >= rev, `revision ${rev} came`);
  }

  leave(): void {
    this.connection.close();
  }

  private received(payload: unknown): void {
    const message = parsePadMessage(payload);
    if (message.kind === 'content') {
      const { rev, initialAttributedText, apool } = message.content;
      this.author = (payload as { data: { userId: string } }).data.userId;
      this.rev = rev;
      this.text = PadText.of(initialAttributedText, apool);
      return;
    }
    if (message.kind === 'change' && message.change.rev === this.rev + 1) {
      this.text?.apply(message.change);
      this.rev = message.change.rev;
    }
    if (message.kind === 'refused') this.ended = message.reason;
    const { data } = payload as { data?: { type?: string; newRev?: number } };
    if (data?.type === 'ACCEPT_COMMIT') this.acknowledged = data.newRev ?? -1;
  }

  private async until(holds: () => boolean, what: string): Promise<void> {
    const condition = () => {
      if (this.ended !== undefined) throw new Error(`the author was cut off: ${this.ended}`);
      return holds();
    };
    await waitFor(condition, { timeoutMs: 20_000, what });
  }
}
