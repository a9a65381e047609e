/**
 * A group of load clients of one server. It waits for a number of messages at every socket, and says when the last
 * one came. Its first `checked` sockets decode what they get and hold it against the order of revisions; with `timed`
 * every message's way from its publication is measured.
 * Limits: CONNECTS_AT_ONCE handshakes under way, MAX_FAULTS faults told.
 */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { dialogueWith, type EdgeRoom, type ServerKind } from './dialogues.js';
import { MessageDecoder } from './message-decoder.js';
import { monotonicMs } from './monotonic.js';
import { TimeReader } from './payload.js';
import { RawSocket, localAddress, type Pace, type SocketListener } from './raw-socket.js';
import { RevisionCheck } from './revision-check.js';

const CONNECTS_AT_ONCE = 128;
const MAX_FAULTS = 5;
const US_PER_MS = 1_000;

export interface GroupOptions {
  readonly server: ServerKind;
  readonly port: number;
  readonly sockets: number;
  readonly deflate: boolean;
  /** Number of the group's first socket: ids are made of it. */
  readonly firstSocket: number;
  /** Of the edge. */
  readonly rooms: readonly EdgeRoom[];
  /** Sockets whose messages are decoded and checked. */
  readonly checked: number;
  /** Whether each message's latency is taken. */
  readonly timed: boolean;
  /** How slow clients read. */
  readonly pace?: Pace;
}

export interface Received {
  /** When the last expected message had come, on the monotonic clock; null: not all came in time. */
  readonly completeAtMs: number | null;
  readonly messages: number;
  readonly bytes: number;
  /** Revisions that the checked sockets got, together, since they were connected. */
  readonly checkedRevisions: number;
  /** What is wrong with what came; empty if nothing is. */
  readonly faults: string[];
}

export class Group implements SocketListener {
  /** Microseconds from publication to receipt; of `timed` groups. */
  private latencies: RecordableHistogram = createHistogram();
  private readonly sockets: RawSocket[] = [];
  private readonly decoders = new Map<RawSocket, MessageDecoder>();
  private readonly checks: RevisionCheck[] = [];
  private readonly readers = new Map<RawSocket, TimeReader>();
  private faults: string[] = [];
  private ready = 0;
  private onReadyChange: () => void = () => undefined;

  private messages = 0;
  private expected = Number.POSITIVE_INFINITY;
  /** Messages that each socket had when it was ready, or when something was last expected from then on; … */
  private atReady: number[] = [];
  /** … and those that it has when all have come. */
  private targets: number[] = [];
  private bytesBefore = 0;
  private completeAtMs: number | null = null;
  private onComplete: () => void = () => undefined;

  private constructor(private readonly options: GroupOptions) {}

  /** Connects all sockets, and waits until every one is ready. Throws if one is not. */
  static async connect(options: GroupOptions): Promise<Group> {
    const group = new Group(options);
    while (group.ready < options.sockets) {
      group.openSome();
      await new Promise<void>((resolve) => {
        group.onReadyChange = resolve;
      });
      if (group.faults.length > 0) throw new Error(group.faults.join('; '));
    }
    group.atReady = group.sockets.map(({ messages }) => messages);
    return group;
  }

  onReady(): void {
    this.ready += 1;
    this.onReadyChange();
  }

  onChunk(socket: RawSocket, chunk: Buffer, messages: number): void {
    this.messages += messages;
    this.decoders.get(socket)?.take(chunk);
    if (this.options.timed) this.time(socket, chunk);
    if (this.messages >= this.expected && this.completeAtMs === null) {
      this.completeAtMs = monotonicMs();
      this.onComplete();
    }
  }

  onClosed(_socket: RawSocket, reason: string): void {
    this.complain(`a socket was closed: ${reason}`);
    this.onReadyChange();
  }

  /** Every socket is expected to get `perSocket` messages, from now on or since it was ready. */
  expect(perSocket: number, since: 'now' | 'ready'): void {
    if (since === 'now') this.atReady = this.sockets.map(({ messages }) => messages);
    this.targets = this.atReady.map((messages) => messages + perSocket);
    this.messages = this.sockets.reduce((sum, { messages }, index) => sum + messages - (this.atReady[index] ?? 0), 0);
    this.expected = perSocket * this.sockets.length;
    this.bytesBefore = this.bytes();
    this.completeAtMs = this.messages >= this.expected ? monotonicMs() : null;
  }

  speedUp(): void {
    for (const socket of this.sockets) socket.speedUp();
  }

  /** Waits until what is expected has come, at most `timeoutMs`. */
  async received(timeoutMs: number): Promise<Received> {
    if (this.completeAtMs === null) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.onComplete = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.onComplete = () => undefined;
    }
    const wrong = this.sockets.filter(({ messages }, index) => messages !== this.targets[index]).length;
    if (wrong > 0) this.complain(`${wrong} of ${this.sockets.length} sockets got another number of messages`);
    let checkedRevisions = 0;
    for (const { fault, revisions } of this.checks) {
      checkedRevisions += revisions;
      if (fault !== undefined) this.complain(fault);
    }
    const { completeAtMs, messages, faults } = this;
    this.faults = [];
    return { completeAtMs, messages, bytes: this.bytes() - this.bytesBefore, checkedRevisions, faults };
  }

  /** Latencies since the last call, in microseconds. */
  takeLatencies(): RecordableHistogram {
    const { latencies } = this;
    this.latencies = createHistogram();
    return latencies;
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private openSome(): void {
    const { sockets, checked, timed } = this.options;
    while (this.sockets.length < sockets && this.sockets.length - this.ready < CONNECTS_AT_ONCE) {
      const socket = this.open(this.sockets.length);
      if (this.sockets.length < checked) this.check(socket);
      if (timed) this.readers.set(socket, new TimeReader());
      this.sockets.push(socket);
    }
  }

  private open(index: number): RawSocket {
    const { server, port, deflate, firstSocket, rooms, pace } = this.options;
    const socket = firstSocket + index;
    return new RawSocket({ port, ...localAddress(socket) }, dialogueWith(server, deflate, socket, rooms), this, pace);
  }

  private check(socket: RawSocket): void {
    const check = new RevisionCheck();
    this.checks.push(check);
    this.decoders.set(
      socket,
      new MessageDecoder((text) => {
        check.take(text);
      }),
    );
  }

  private time(socket: RawSocket, chunk: Buffer): void {
    const now = monotonicMs();
    this.readers.get(socket)?.read(chunk, socket.inMessage, (atMs) => {
      this.latencies.record(Math.max(1, Math.round((now - atMs) * US_PER_MS)));
    });
  }

  private bytes(): number {
    return this.sockets.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  private complain(fault: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(fault);
  }
}
