/**
 * Cuts a page so that its reply fits the payload limit. Sizes are upper bounds computed from the texts, so that a page
 * is encoded once, when its size is settled; they are at most some 50 bytes a revision above the encoded size.
 */
import { cutEntry } from '../log/entry-range.js';
import type { Entry } from '../log/log.js';

/** What an entry has in a range reply beside its texts: tags, lengths, numbers. */
const ENTRY_BYTES = 96;
/** The same for a revision. */
const REVISION_BYTES = 40;

/** The leading revisions whose encoded entries stay within `maxBytes`; the first revision is always among them. */
export function fitEntries(entries: readonly Entry[], maxBytes: number): readonly Entry[] {
  const fitting: Entry[] = [];
  let left = maxBytes;
  for (const entry of entries) {
    left -= ENTRY_BYTES + Buffer.byteLength(entry.room) + Buffer.byteLength(entry.epoch) + entry.appendId.length;
    let count = 0;
    for (const revision of entry.revisions) {
      left -=
        REVISION_BYTES +
        revision.data.byteLength +
        Buffer.byteLength(revision.author ?? '') +
        Buffer.byteLength(revision.key ?? '');
      if (left < 0 && (count > 0 || fitting.length > 0)) break;
      count += 1;
    }
    if (count > 0) fitting.push(cutEntry(entry, entry.firstRev, count));
    if (left < 0) break;
  }
  return fitting;
}
