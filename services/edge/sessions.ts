/** The edge's open sessions, of every transport: who looks at all of them, and who counts, closes or ages them, asks here. */
import type { ConnectionAge } from './connection-age.js';
import type { EdgeCounters } from './counters.js';
import type { Session } from './session.js';

export class Sessions extends Set<Session> {
  constructor(
    private readonly age: ConnectionAge,
    private readonly counters: Pick<EdgeCounters, 'socketsOpened'>,
  ) {
    super();
  }

  override add(session: Session): this {
    this.counters.socketsOpened += 1;
    this.age.add(session);
    return super.add(session);
  }

  override delete(session: Session): boolean {
    this.age.remove(session);
    return super.delete(session);
  }
}
