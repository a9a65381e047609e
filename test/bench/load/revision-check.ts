/** Checks what one client gets: the revisions of each room, one after the other, none missing, none twice. */
const REVISION = /"room":"([^"]+)",(?:"epoch":"[^"]*",)?"rev":(\d+),"tag":"[0-9a-f]{8}","time"/gu;

export class RevisionCheck {
  /** The newest revision of each room that came. */
  readonly heads = new Map<string, number>();
  revisions = 0;
  /** The first thing that was wrong. */
  fault: string | undefined;

  take(text: string): void {
    for (const [, room = '', digits] of text.matchAll(REVISION)) {
      const rev = Number(digits);
      const head = this.heads.get(room);
      if (head !== undefined && rev !== head + 1) this.fault ??= `room ${room}: revision ${rev} came after ${head}`;
      this.heads.set(room, rev);
      this.revisions += 1;
    }
    if (text.includes('"error"')) this.fault ??= `the server said ${text.slice(0, 200)}`;
  }
}
