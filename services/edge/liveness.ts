/**
 * Finds dead clients: a silent one is pinged (one of a protocol with heartbeats always, at the same interval), one that
 * stays silent is cut. A message, a pong and a drain (bytes that a
 * slow reader took) are signs of life, so a slow reader that makes progress is never cut.
 */
import type { EdgeParts } from './edge-parts.js';
import type { Session } from './session.js';

/** A sweep looks at every session so often within the shorter of the two times. */
const SWEEPS = 4;

export class Liveness {
  private cancel: () => void = () => undefined;

  constructor(
    private readonly sessions: ReadonlySet<Session>,
    private readonly parts: Pick<EdgeParts, 'clock' | 'settings'>,
  ) {}

  start(): void {
    const { pingAfterMs, deadAfterMs } = this.parts.settings;
    this.cancel = this.parts.clock.after(Math.min(pingAfterMs, deadAfterMs) / SWEEPS, () => {
      this.sweep();
      this.start();
    });
  }

  stop(): void {
    this.cancel();
  }

  private sweep(): void {
    const now = this.parts.clock.monotonic();
    const { pingAfterMs, deadAfterMs } = this.parts.settings;
    for (const session of this.sessions) {
      const silentMs = now - session.lastSeen;
      if (silentMs >= deadAfterMs) session.cut();
      else if (silentMs >= pingAfterMs || session.hasHeartbeat) session.pingOnce(now, pingAfterMs);
    }
  }
}
