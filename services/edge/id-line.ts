/**
 * The `id:` line of a stream of several rooms, as it is sent: the positions of all rooms of which the client was told.
 * Revisions move one position at a time, nearly always to one of the same length, which is copied into its place: so an
 * event costs the same whatever the number of rooms, but for the bytes on the wire.
 */
import { placePrefix, REFUSED, positionText, type StreamPlace } from './stream-id.js';

const FIELD = 'id: ';
const END = '\n\n';

export class IdLine {
  private bytes: Buffer = Buffer.alloc(0);
  /** Where each room's position begins in the line, and its length; 0: the client was not told of the room. */
  private readonly starts: number[];
  private readonly lengths: number[];

  constructor(places: readonly StreamPlace[]) {
    this.starts = places.map(() => 0);
    this.lengths = places.map(() => 0);
    this.build(places.map((place) => (place === undefined ? '' : place === 'refused' ? REFUSED : positionText(place))));
  }

  /** The line with the empty one that ends the event. Written over by the next `set`. */
  get line(): Buffer {
    return this.bytes;
  }

  /** The room at `place` has come to the position that is written in `source`. */
  set(place: number, source: Buffer, from: number, to: number): void {
    const start = this.starts[place] ?? 0;
    if (to - from === this.lengths[place]) {
      source.copy(this.bytes, start, from, to);
      return;
    }
    const texts = this.starts.map((each, index) =>
      this.bytes.toString('latin1', each, each + (this.lengths[index] ?? 0)),
    );
    texts[place] = source.toString('latin1', from, to);
    this.build(texts);
  }

  private build(texts: readonly string[]): void {
    let line = FIELD;
    for (const [place, text] of texts.entries()) {
      if (text !== '') line += `${line === FIELD ? '' : ','}${placePrefix(place, texts.length)}`;
      this.starts[place] = line.length;
      this.lengths[place] = text.length;
      line += text;
    }
    line += END;
    this.bytes = Buffer.allocUnsafeSlow(line.length);
    this.bytes.write(line, 'latin1');
  }
}
