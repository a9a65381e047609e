import { describe, expect, it } from 'vitest';
import type { MemoryLog } from '../../services/log/memory-log.js';
import { createRevisionHttp } from '../../services/revision/http.js';
import type { RevisionReader } from '../../services/revision/contract.js';
import { RevisionService } from '../../services/revision/service.js';
import { RevcastError } from '../../services/shared/errors.js';
import { silentLogger } from '../../services/shared/logger.js';
import { appendEntries, hastyClock, memoryLog, settings } from '../support/revision-parts.js';

const ROOM = 'doc-1';
const PATH = `/v1/rooms/${ROOM}/revisions`;

/** The HTTP side over a memory log whose room has entries of these sizes. */
async function serving(sizes: readonly number[], { keep, page = 1_000 }: { keep?: number; page?: number } = {}) {
  const { log, store } = memoryLog(keep);
  const appended = await appendEntries(log, ROOM, sizes);
  const limits = { ...settings, revisionPageRevisions: page };
  return { log, store, appended, ...over(new RevisionService({ log, clock: hastyClock, settings: limits })) };
}

function over(reader: RevisionReader, limits: Partial<typeof settings> = {}) {
  const { app } = createRevisionHttp({
    settings: { ...settings, ...limits },
    reader,
    logger: silentLogger,
    ready: () => ({ ok: true, detail: '' }),
  });
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const { statusCode, body, headers: answered } = await app.inject({ method: 'GET', url, headers });
    return { status: statusCode, body, headers: answered, json: () => JSON.parse(body) as Record<string, unknown> };
  };
  return { app, get };
}

async function headOf(log: MemoryLog) {
  const head = (await log.heads([ROOM])).get(ROOM);
  if (!head) throw new Error('the room has a head');
  return head;
}

/** The numbers of the revisions in NDJSON. */
function revsIn(text: string): number[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { rev: number }).rev);
}

/** A reader that answers everything with an error. */
function failing(code: 'log_unavailable' | 'overloaded'): RevisionReader {
  const fail = () => Promise.reject(new RevcastError(code, 'not now'));
  return { heads: fail, range: fail, snapshot: fail };
}

describe('GET /v1/rooms/:room', () => {
  it('[R4] tells where the room stands', async () => {
    const { get, log } = await serving([2, 3]);
    const { epoch, rev, tag, seq, time } = await headOf(log);
    const { status, body } = await get(`/v1/rooms/${ROOM}`);
    expect(status).toBe(200);
    expect(body).toBe(JSON.stringify({ room: ROOM, epoch, rev, tag, seq, time, firstRev: 1 }));
  });

  it('[R4] tells the oldest kept revision where older ones are gone', async () => {
    const { get } = await serving(
      Array.from({ length: 20 }, () => 1),
      { keep: 10 },
    );
    const { rev, firstRev } = (await get(`/v1/rooms/${ROOM}`)).json();
    expect(rev).toBe(20);
    expect(firstRev).toBeGreaterThan(1);
  });

  it('[R4] a room without revisions is not found, a room that cannot be is refused', async () => {
    const { get } = await serving([]);
    for (const path of [`/v1/rooms/${ROOM}`, PATH, `${PATH}?from=1`, `${PATH}?format=ndjson`]) {
      const { status, body, headers } = await get(path);
      expect({ path, status, type: headers['content-type'] }).toEqual({
        path,
        status: 404,
        type: 'application/json; charset=utf-8',
      });
      expect(body).toBe('{"error":{"code":"not_found","message":"the room \\"doc-1\\" has no revisions"}}');
    }
    for (const name of ['%00', '%ff', 'x'.repeat(201)]) expect((await get(`/v1/rooms/${name}`)).status).toBe(400);
  });
});

describe('GET /v1/rooms/:room/revisions as JSON', () => {
  it('[R4] has each revision’s data byte for byte, and names the page behind it', async () => {
    const { get, log, app } = await serving([]);
    const texts = ['{"a":1,"a":2.0}', '"\\u00e9 é 😀 \\ud800 \u2028"', '1e400', '[]', '"<&>"'];
    const room = 'é/ü?';
    const times: number[] = [];
    for (const data of texts) {
      times.push((await log.append(room, { revisions: [{ data: Buffer.from(data), author: 'Zoë "z"' }] })).time);
    }
    const head = (await log.heads([room])).get(room);
    const range = await log.range(room, 'first', { limit: 9, maxBytes: 999 });
    if (!head || range.kind !== 'entries') throw new Error('the room has revisions');
    const revisions = range.entries.map(
      ({ tag }, index) =>
        `{"rev":${index + 1},"tag":"${tag}","time":${times[index]},"timeDelta":${
          index === 0 ? 'null' : (times[index] ?? 0) - (times[index - 1] ?? 0)
        },"author":"Zoë \\"z\\"","data":${texts[index]}}`,
    );
    const { epoch, rev, tag, seq, time } = head;
    const tail = `"head":${JSON.stringify({ epoch, rev, tag, seq, time })}`;
    const before = `{"room":"é/ü?","epoch":"${epoch}","revisions":[`;

    const path = `/v1/rooms/${encodeURIComponent(room)}/revisions`;
    const whole = await app.inject({ method: 'GET', url: path });
    expect(whole.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(whole.rawPayload).toEqual(Buffer.from(`${before}${revisions.join(',')}],${tail},"next":null}`));

    const first = await get(`${path}?limit=3`);
    const next = `${path}?from=4&limit=3&epoch=${epoch}&tag=${range.entries[2]?.tag}`;
    expect(first.body).toBe(`${before}${revisions.slice(0, 3).join(',')}],${tail},"next":"${next}"}`);
    const second = await get(next);
    expect(second.body).toBe(`${before}${revisions.slice(3).join(',')}],${tail},"next":null}`);
  });

  it('[R4] gives timeDelta of a revision in the middle of an entry, and of the first one of a page', async () => {
    const { get } = await serving([3, 2]);
    const all = (await get(PATH)).json()['revisions'] as { rev: number; time: number; timeDelta: number | null }[];
    expect(all.map(({ timeDelta }) => timeDelta === null)).toEqual([true, false, false, false, false]);
    for (let from = 1; from <= 5; from += 1) {
      const page = (await get(`${PATH}?from=${from}`)).json()['revisions'];
      expect(page).toEqual(all.slice(from - 1));
    }
  });

  it('[R4] from above the head is an empty page; below the oldest kept it is 410 with what is kept', async () => {
    const { get, log } = await serving(
      Array.from({ length: 20 }, () => 1),
      { keep: 10 },
    );
    const head = await headOf(log);
    for (const from of [21, 22, Number.MAX_SAFE_INTEGER]) {
      expect((await get(`${PATH}?from=${from}`)).json()).toEqual({
        room: ROOM,
        epoch: head.epoch,
        revisions: [],
        head,
        next: null,
      });
    }
    const { firstRev } = (await get(`/v1/rooms/${ROOM}`)).json();
    const { status, json } = await get(`${PATH}?from=1`);
    expect(status).toBe(410);
    expect(json()).toMatchObject({ error: { code: 'history_truncated', firstRev, head } });
    const oldest = (await get(PATH)).json()['revisions'] as { rev: number }[];
    expect(oldest[0]?.rev).toBe(firstRev);
  });

  it('[R4] a position of another history is 410 epoch_changed', async () => {
    const { get, log, appended } = await serving([2, 3]);
    const head = await headOf(log);
    for (const position of [
      'from=2&epoch=other',
      `from=2&epoch=${head.epoch}&tag=00000001`,
      `from=7&epoch=${head.epoch}`,
      `from=7&epoch=${head.epoch}&tag=${head.tag}`,
    ]) {
      const { status, json } = await get(`${PATH}?${position}`);
      expect(status).toBe(410);
      expect(json()).toMatchObject({ error: { code: 'epoch_changed', head } });
    }
    const right = await get(`${PATH}?from=2&epoch=${head.epoch}&tag=${appended[0]?.tag}`);
    expect(right.json()['revisions']).toHaveLength(4);
    const end = await get(`${PATH}?from=6&epoch=${head.epoch}&tag=${head.tag}`);
    expect(end.json()).toMatchObject({ revisions: [], next: null });
  });

  it('[R4] what is wrong in the query is 400 with what and where', async () => {
    const { get } = await serving([2]);
    const wrong: [string, string][] = [
      ['from=0', 'from'],
      ['from=-1', 'from'],
      ['from=1.5', 'from'],
      ['from=', 'from'],
      ['from=9007199254740992', 'from'],
      ['from=1&from=2', 'from'],
      ['limit=0', 'limit'],
      ['limit=ten', 'limit'],
      ['limit=1000000001', 'limit'],
      ['format=xml', 'format'],
      ['form=1', 'form'],
      ['epoch=e', 'epoch'],
      ['from=1&epoch=', 'epoch'],
      [`from=1&epoch=${'e'.repeat(65)}`, 'epoch'],
      ['from=2&tag=00000001', 'tag'],
      ['from=2&epoch=e&tag=XYZ', 'tag'],
      ['from=1&epoch=e&tag=00000001', 'tag'],
    ];
    for (const [query, where] of wrong) {
      const { status, json } = await get(`${PATH}?${query}`);
      expect({ query, status, ...json() }).toMatchObject({
        query,
        status: 400,
        error: { code: 'invalid_request', where },
      });
    }
  });
});

describe('GET /v1/rooms/:room/revisions as NDJSON', () => {
  it('[R4] has one revision a line, over several pages, up to the limit or the head', async () => {
    const { get, log } = await serving([2, 3, 4], { page: 2 });
    const { epoch } = await headOf(log);
    const { body, headers } = await get(`${PATH}?format=ndjson`);
    expect(headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'revcast-epoch': epoch,
      'revcast-head': '9',
    });
    expect(body.endsWith('\n')).toBe(true);
    expect(revsIn(body)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const accept = { accept: 'application/x-ndjson' };
    expect(revsIn((await get(`${PATH}?from=4&limit=3`, accept)).body)).toEqual([4, 5, 6]);
    expect(revsIn((await get(`${PATH}?from=10`, accept)).body)).toEqual([]);
    const json = await get(`${PATH}?format=json&limit=1`, accept);
    expect(json.headers['content-type']).toBe('application/json; charset=utf-8');
    const line = (await get(`${PATH}?limit=1`, accept)).body;
    expect(json.body).toContain(line.trimEnd());
  });

  it('[R4] a HEAD request reads one page and sends none', async () => {
    const { app } = await serving([2, 3, 4], { page: 2 });
    for (const query of ['', '?format=ndjson']) {
      const { statusCode, body } = await app.inject({ method: 'HEAD', url: PATH + query });
      expect({ statusCode, body }).toEqual({ statusCode: 200, body: '' });
    }
  });
});

describe('faults', () => {
  it('[R4] what the log or a full service cannot answer now is 503 with Retry-After', async () => {
    for (const code of ['log_unavailable', 'overloaded'] as const) {
      for (const path of [`/v1/rooms/${ROOM}`, PATH, `${PATH}?from=1&format=ndjson`]) {
        const { status, headers, json } = await over(failing(code)).get(path);
        expect(status).toBe(503);
        expect(Number(headers['retry-after'])).toBeGreaterThan(0);
        expect(json()).toMatchObject({ error: { code } });
      }
    }
  });

  it('[R4] beyond the reads served at once it answers overloaded, and goes on when they end', async () => {
    const waiting: (() => void)[] = [];
    const reader: RevisionReader = {
      heads: () => Promise.resolve([]),
      snapshot: () => Promise.resolve({ kind: 'none', head: null }),
      range: async () => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return { kind: 'entries', entries: [], head: null };
      },
    };
    const { get } = over(reader, { revisionHttpRequests: 2 });
    const served = [get(PATH), get(PATH)];
    await expect.poll(() => waiting.length).toBe(2);
    expect((await get(PATH)).json()).toMatchObject({ error: { code: 'overloaded' } });
    for (const go of waiting.splice(0)) go();
    expect((await Promise.all(served)).map(({ status }) => status)).toEqual([404, 404]);
    const again = get(PATH);
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]?.();
    expect((await again).status).toBe(404);
  });

  it('[R4] a room that begins another numbering between two reads is told as it is then', async () => {
    const { log, store } = await serving([2]);
    const service = new RevisionService({ log, clock: hastyClock, settings });
    let begun = false;
    const { get } = over({
      heads: (known) => service.heads(known),
      snapshot: (room) => service.snapshot(room),
      range: async (query) => {
        if (!begun) store.removeHistory(ROOM);
        if (!begun) await appendEntries(log, ROOM, [1, 1, 1]);
        begun = true;
        return service.range(query);
      },
    });
    expect((await get(`/v1/rooms/${ROOM}`)).json()).toMatchObject({ rev: 3, firstRev: 1 });
  });
});
