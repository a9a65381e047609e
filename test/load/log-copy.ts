/** What the log has of a room, read over the revision service's HTTP side, apart from any edge. */
import type { LogCopy, Seen } from './checker.js';

const LIMIT = 100_000;

/** All revisions that the log keeps of a room, the data as text. A room that is empty has epoch '' and none. */
export async function readLog(revisionUrl: string, room: string): Promise<LogCopy> {
  const url = `${revisionUrl}/v1/rooms/${encodeURIComponent(room)}/revisions?limit=${LIMIT}`;
  const response = await fetch(url, { headers: { accept: 'application/x-ndjson' } });
  const text = await response.text();
  if (response.status === 404) return { epoch: '', revisions: [] };
  if (response.status !== 200) throw new Error(`the log of ${room} was answered ${response.status}: ${text}`);
  const lines = text.split('\n').filter((line) => line !== '');
  return { epoch: response.headers.get('revcast-epoch') ?? '', revisions: lines.map(revisionOf) };
}

/** Epoch and rev of a room's head; rev 0 where it is empty. */
export async function readHead(revisionUrl: string, room: string): Promise<{ epoch: string; rev: number }> {
  const response = await fetch(`${revisionUrl}/v1/rooms/${encodeURIComponent(room)}`);
  const body = (await response.json()) as { epoch: string; rev: number };
  if (response.status === 404) return { epoch: '', rev: 0 };
  if (response.status !== 200) throw new Error(`the head of ${room} was answered ${response.status}`);
  return { epoch: body.epoch, rev: body.rev };
}

/** A revision's JSON text as revcast writes it, with `data` as the bytes stand there: the last field. */
export function revisionOf(text: string): Seen & { readonly epoch?: string } {
  const { rev, tag, time, epoch } = JSON.parse(text) as { rev: number; tag: string; time: number; epoch?: string };
  const begin = text.indexOf(',"data":', text.indexOf('"timeDelta":')) + ',"data":'.length;
  return { rev, tag, time, data: text.slice(begin, -1), ...(epoch === undefined ? {} : { epoch }) };
}

/** The elements of a JSON array's text, each as its bytes stand there. */
export function elementTexts(array: string): string[] {
  const texts: string[] = [];
  let depth = 0;
  let inString = false;
  let begin = 1;
  for (let at = 0; at < array.length; at += 1) {
    const char = array[at];
    if (inString) {
      if (char === '\\') at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
    if (!inString && ((depth === 1 && char === ',') || depth === 0)) {
      if (at > begin) texts.push(array.slice(begin, at));
      begin = at + 1;
    }
  }
  return texts;
}
