/** A live path that loses, repeats and delays entries, as JetStream's does at a change of leader. */
import type { Disturbance, Entry, Following, LiveLog, LogStatus } from '../../services/log/log.js';
import type { Random } from './random.js';

const MAX_DELAY_MS = 30;

export class LossyLive implements LiveLog {
  lost = 0;
  /** While false everything arrives as it should. */
  lossy = true;
  private readonly listeners = new Set<(disturbance: Disturbance) => void>();

  constructor(
    private readonly inner: LiveLog,
    private readonly random: Random,
  ) {}

  follow(rooms: readonly string[], onEntry: (entry: Entry) => void): Following {
    let stopped = false;
    const deliver = (entry: Entry) => {
      if (!stopped) onEntry(entry);
    };
    const following = this.inner.follow(rooms, (entry) => {
      if (!this.lossy) {
        deliver(entry);
        return;
      }
      if (this.random.chance(0.15)) {
        this.lost += 1;
        return;
      }
      if (this.random.chance(0.85)) deliver(entry);
      else this.later(deliver, entry);
      if (this.random.chance(0.1)) this.later(deliver, entry);
    });
    return {
      ready: following.ready,
      stop: () => {
        stopped = true;
        following.stop();
      },
    };
  }

  status(): LogStatus {
    return this.inner.status();
  }

  onDisturbance(listener: (disturbance: Disturbance) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Tells that entries may have been missed. */
  disturb(disturbance: Disturbance): void {
    for (const listener of this.listeners) listener(disturbance);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private later(deliver: (entry: Entry) => void, entry: Entry): void {
    setTimeout(deliver, this.random.whole(0, MAX_DELAY_MS), entry);
  }
}
