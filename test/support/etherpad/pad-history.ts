/**
 * A pad as an Etherpad server keeps it: every revision, the text and attributes at the head, one pool for all. Edits are
 * made with Etherpad's own library; what goes out has a pool of its own, as Etherpad sends it.
 */
import type { Random } from '../random.js';
import {
  Changeset,
  newPool,
  PadText,
  randomChangeset,
  type AttributedText,
  type AttributePair,
  type PoolJson,
} from './changeset.js';

export interface PadHistoryRevision {
  readonly rev: number;
  readonly changeset: string;
  readonly apool: PoolJson;
  readonly author: string;
  readonly currentTime: number;
}

interface Stored {
  /** In the pad's pool. */
  readonly changeset: string;
  readonly author: string;
  readonly time: number;
}

export class PadHistory {
  private readonly pool = newPool();
  private atext: AttributedText;
  /** Index is the revision; 0 made the first text. */
  private readonly revisions: Stored[];

  constructor(text = 'Welcome to Etherpad!\n') {
    this.atext = Changeset.makeAText('\n');
    this.revisions = [];
    this.add(Changeset.makeSplice('\n', 0, 0, text.replace(/\n$/u, '')), '');
  }

  get head(): number {
    return this.revisions.length - 1;
  }

  get text(): string {
    return this.atext.text;
  }

  /** Replaces characters, as an author; answers the new revision. */
  splice(start: number, removed: number, inserted: string, author = 'a.aaaaaaaaaaaaaaaa'): number {
    const attributes: AttributePair[] = [['author', author]];
    return this.add(Changeset.makeSplice(this.text, start, removed, inserted, attributes, this.pool), author);
  }

  append(inserted: string, author?: string): number {
    return this.splice(this.text.length - 1, 0, inserted, author);
  }

  /** Some valid edit of some author. */
  editAtRandom(random: Random): number {
    const author = `a.author${random.whole(1, 3)}`;
    return this.add(randomChangeset(random, this.text, author, this.pool), author);
  }

  /** As Etherpad puts it on the wire. */
  revision(rev: number): PadHistoryRevision {
    const stored = this.revisions[rev];
    if (stored === undefined) throw new Error(`the pad has no revision ${rev}`);
    const { translated, pool } = Changeset.prepareForWire(stored.changeset, this.pool);
    const apool = structuredClone(pool.toJsonable());
    return { rev, changeset: translated, apool, author: stored.author, currentTime: stored.time };
  }

  /** Text and attributes at the head, on the wire. */
  initialAttributedText(): { initialAttributedText: AttributedText; apool: PoolJson; rev: number } {
    const { translated, pool } = Changeset.prepareForWire(this.atext.attribs, this.pool);
    const apool = structuredClone(pool.toJsonable());
    return { initialAttributedText: { text: this.text, attribs: translated }, apool, rev: this.head };
  }

  /** To be compared with a viewer's. */
  get content(): PadText['content'] {
    return PadText.of(this.atext, this.pool.toJsonable()).content;
  }

  private add(changeset: string, author: string): number {
    this.atext = Changeset.applyToAText(changeset, this.atext, this.pool);
    this.revisions.push({ changeset, author, time: Date.now() });
    return this.head;
  }
}
