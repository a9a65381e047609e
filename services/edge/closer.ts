/**
 * Closes sockets so that nothing is lost: what their clients publish is answered first, what is queued for them is
 * written, and they are told to connect again (1012; event streams and Socket.IO in their own way). Who has not taken that
 * after `closeTimeoutMs` is cut.
 *
 *   open ──close──▶ answering (publications are under way; further ones are refused) ──▶ ending ──taken──▶ closed
 *                       └──────────────────────── closeTimeoutMs ────────────────────────┴──▶ cut
 *
 * One list in the order of time, one timer while it is not empty: O(1) per socket. Never called in a handler of
 * uWebSockets.js, which holds its cork then.
 */
import type { Clock } from '../shared/clock.js';
import { asError } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';

const RESTART_CODE = 1012;
const LOOK_MS = 50;

/** Of a session, what is needed here. */
export interface ClosingSocket {
  readonly open: boolean;
  end(code: number, reason: string): void;
  cut(): void;
}

export interface CloserParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly closeTimeoutMs: number;
  /** Refuses what the client publishes from now on; resolves when what is under way is answered. undefined: nothing is. */
  readonly finishPublishing: (socket: object) => Promise<void> | undefined;
  /** A socket was cut because it did not take what was on its way. */
  readonly onCut: () => void;
}

interface Closing {
  readonly socket: ClosingSocket;
  readonly untilMs: number;
}

export class Closer {
  /** By time. */
  private closing: Closing[] = [];
  private isLooking = false;

  constructor(private readonly parts: CloserParts) {}

  close(socket: ClosingSocket, reason: string): void {
    if (!socket.open) return;
    const answered = this.parts.finishPublishing(socket);
    if (answered === undefined) this.end(socket, reason);
    if (!socket.open) return;
    this.closing.push({ socket, untilMs: this.parts.clock.monotonic() + this.parts.closeTimeoutMs });
    this.look();
    answered?.then(
      () => {
        this.end(socket, reason);
      },
      (error: unknown) => {
        this.parts.logger.error({ err: asError(error) }, 'publications did not end');
        socket.cut();
      },
    );
  }

  /** A socket that fails is cut, and nobody else notices. */
  private end(socket: ClosingSocket, reason: string): void {
    if (!socket.open) return;
    try {
      socket.end(RESTART_CODE, reason);
    } catch (error) {
      this.parts.logger.error({ err: asError(error) }, 'a socket could not be closed');
      socket.cut();
    }
  }

  private look(): void {
    if (this.isLooking) return;
    this.isLooking = true;
    this.parts.clock.after(LOOK_MS, () => {
      this.isLooking = false;
      this.cutLate();
      if (this.closing.length > 0) this.look();
    });
  }

  private cutLate(): void {
    const now = this.parts.clock.monotonic();
    const late = this.closing.findIndex(({ untilMs }) => untilMs > now);
    const over = late < 0 ? this.closing.splice(0) : this.closing.splice(0, late);
    for (const { socket } of over) {
      if (!socket.open) continue;
      this.parts.onCut();
      socket.cut();
    }
    // Those at the front that have gone need not be kept for their time.
    const first = this.closing.findIndex(({ socket }) => socket.open);
    this.closing.splice(0, first < 0 ? this.closing.length : first);
  }
}
