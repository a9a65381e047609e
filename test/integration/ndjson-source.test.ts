/** The NDJSON source on files and pipes, and the memory log. */
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryLog } from '../../services/log/memory-log.js';
import type { Append } from '../../services/log/log.js';
import { NdjsonSource } from '../../services/producer/sources/ndjson-source.js';
import { ndjsonSettings, type NdjsonValues } from '../../services/producer/sources/ndjson-settings.js';
import type { SourceLog } from '../../services/producer/sources/source.js';
import { systemClock } from '../../services/shared/clock.js';
import { RevcastError } from '../../services/shared/errors.js';
import { readSettings } from '../../services/shared/settings.js';
import { LogLines } from '../support/log-lines.js';
import { waitFor } from '../support/wait-for.js';

let log: MemoryLog;
let logged: LogLines;

beforeEach(() => {
  log = new MemoryLog({ clock: systemClock });
  logged = new LogLines();
});

afterEach(() => log.close());

function start(input: Readable, settings: Partial<NdjsonValues> = {}, to: Pick<SourceLog, 'append'> = log) {
  return new NdjsonSource({
    input,
    log: to,
    logger: logged.logger,
    clock: systemClock,
    settings: { ...readSettings(ndjsonSettings, {}, {}), ndjsonRoom: 'doc', ...settings },
    retry: { firstMs: 2, maxMs: 20 },
  });
}

const from = (text: string | Buffer) => Readable.from([Buffer.from(text)]);

interface Held {
  readonly data: string;
  readonly author?: string;
}

async function held(room = 'doc'): Promise<Held[]> {
  const found: Held[] = [];
  for (;;) {
    const range = await log.range(room, found.length + 1, { limit: 10_000, maxBytes: 2 ** 30 });
    if (range.kind !== 'entries' || range.entries.length === 0) return found;
    for (const { revisions } of range.entries) {
      for (const { data, author } of revisions) {
        found.push({ data: Buffer.from(data).toString(), ...(author === undefined ? {} : { author }) });
      }
    }
  }
}

const dataIn = async (room?: string) => (await held(room)).map(({ data }) => data);
const numbered = (count: number) => Array.from({ length: count }, (_, index) => String(index));

describe('publishing', () => {
  it('[N1] a file’s lines are revisions, in their order, each once, the last one without a line feed too', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'revcast-ndjson-'));
    try {
      const path = join(directory, 'lines.ndjson');
      await writeFile(
        path,
        numbered(20_000)
          .map((n) => `{"author":"writer-1","data":{"n": ${n}, "€": "😀"}}`)
          .join('\r\n'),
      );
      const report = await start(createReadStream(path, { highWaterMark: 1_000 })).done;
      expect(report).toEqual({ outcome: 'finished', lines: 20_000, appended: 20_000, duplicates: 0, skipped: 0 });
      expect(await held()).toEqual(numbered(20_000).map((n) => ({ data: `{"n":${n},"€":"😀"}`, author: 'writer-1' })));
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it('[N1] lines of another process are published as they come, while its output is open', async () => {
    const child = spawn('sh', ['-c', 'echo 1; echo 2; read go; echo 3'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const source = start(child.stdout, { ndjsonRaw: true });
    await waitFor(async () => (await held()).length === 2, { what: 'the first lines' });
    child.stdin.end('go\n');
    expect(await source.done).toMatchObject({ outcome: 'finished', appended: 3 });
    expect(await dataIn()).toEqual(['1', '2', '3']);
  });

  it('[N5] lines go to the rooms that they name, in order in each', async () => {
    const text = numbered(3_000)
      .map((n) => `{"room":"r${Number(n) % 7}","data":${n}}`)
      .join('\n');
    expect(await start(from(text)).done).toMatchObject({ outcome: 'finished', appended: 3_000 });
    for (let room = 0; room < 7; room += 1) {
      expect(await dataIn(`r${room}`)).toEqual(numbered(3_000).filter((n) => Number(n) % 7 === room));
    }
  });

  it('[N6] lines that are ready go out together, at most as many as are set, one batch at a time', async () => {
    const sizes: number[] = [];
    let underWay = 0;
    let mostUnderWay = 0;
    const slow: Pick<SourceLog, 'append'> = {
      append: async (room, append) => {
        underWay += 1;
        mostUnderWay = Math.max(mostUnderWay, underWay);
        sizes.push(append.revisions.length);
        await new Promise((resolve) => setTimeout(resolve, 2));
        underWay -= 1;
        return log.append(room, append);
      },
    };
    const report = await start(from(numbered(1_000).join('\n')), { ndjsonRaw: true, ndjsonBatchLines: 100 }, slow).done;
    expect(report).toMatchObject({ outcome: 'finished', appended: 1_000 });
    expect(mostUnderWay).toBe(1);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100);
    expect(sizes.length).toBeLessThan(20);
    expect(await dataIn()).toEqual(numbered(1_000));
  });

  it('[N6] while the log does not take them, lines are not read: memory stays bounded', async () => {
    const gate = new EventEmitter();
    let isOpen = false;
    const stuck: Pick<SourceLog, 'append'> = {
      append: async (room, append) => {
        if (!isOpen) await once(gate, 'open');
        return log.append(room, append);
      },
    };
    let read = 0;
    async function* endless() {
      for (; read < 5_000; read += 1) {
        await Promise.resolve();
        yield Buffer.from(`"${'x'.repeat(10_000)}"\n`);
      }
    }
    const source = start(Readable.from(endless(), { highWaterMark: 4 }), { ndjsonRaw: true }, stuck);
    let before = -1;
    // Waits until it reads no more.
    await waitFor(
      () => {
        const isStill = read === before;
        before = read;
        return isStill && read > 0;
      },
      { what: 'the reader waits' },
    );
    // Two rounds of half a MiB, and what the stream holds itself.
    expect(read).toBeLessThan(150);
    isOpen = true;
    gate.emit('open');
    expect(await source.done).toMatchObject({ outcome: 'finished', appended: 5_000 });
  });

  it('[N7] a line with a key that the room has seen is counted, not published again', async () => {
    const text = '{"data":1,"key":"a"}\n{"data":2}\n{"data":3,"key":"b"}\n{"data":4,"key":"a"}\n';
    expect(await start(from(text)).done).toMatchObject({ outcome: 'finished', appended: 3, duplicates: 1 });
    expect(await start(from(text)).done).toMatchObject({ outcome: 'finished', appended: 1, duplicates: 3 });
    expect(await dataIn()).toEqual(['1', '2', '3', '2']);
  });
});

describe('bad lines', () => {
  const text = '1\n2\n{"a":\n4\n\n"\xff"\n7';
  const bytes = Buffer.from(text, 'latin1');

  it('[N3] the first one ends the run, after the lines before it', async () => {
    const report = await start(from(bytes), { ndjsonRaw: true }).done;
    expect(report).toMatchObject({ outcome: 'failed', lines: 3, appended: 2, skipped: 0 });
    expect(report.error).toMatchObject({
      code: 'invalid_json',
      message: 'line 3, column 6: not valid JSON: a value expected, but the text ends',
      details: { line: 3, column: 6 },
    });
    expect(await dataIn()).toEqual(['1', '2']);
  });

  it('[N3] they are skipped, counted and told if that is set', async () => {
    const report = await start(from(bytes), { ndjsonRaw: true, ndjsonSkipBad: true }).done;
    expect(report).toEqual({ outcome: 'finished', lines: 7, appended: 4, duplicates: 0, skipped: 2 });
    expect(await dataIn()).toEqual(['1', '2', '4', '7']);
    expect(logged.about('skipped').map(({ msg }) => msg)).toEqual([
      'skipped line 3, column 6: not valid JSON: a value expected, but the text ends',
      'skipped line 6, column 2: not valid UTF-8',
    ]);
  });

  it('[N3] however many there are, a few are logged one by one', async () => {
    const report = await start(from('x\n'.repeat(5_000)), { ndjsonSkipBad: true }).done;
    expect(report).toMatchObject({ outcome: 'finished', skipped: 5_000 });
    expect(logged.lines.length).toBeLessThan(30);
  });

  it('[N4] a line over the limit is a bad line, and is not kept in memory', async () => {
    const long = Buffer.alloc(5_000_000, 'x');
    const input = Readable.from([Buffer.from('1\n'), ...Array.from({ length: 20 }, () => long), Buffer.from('\n2\n')]);
    const report = await start(input, { ndjsonRaw: true, ndjsonSkipBad: true, ndjsonMaxLineBytes: 100 }).done;
    expect(report).toMatchObject({ outcome: 'finished', lines: 3, appended: 2, skipped: 1 });
    expect(logged.about('skipped')[0]?.msg).toBe(
      'skipped line 2: the line has 100000000 bytes, at most 100 are allowed',
    );
  });

  it('[N4] a line that the log refuses as too large is a bad line; those beside it are published', async () => {
    const small: Pick<SourceLog, 'append'> = {
      append: (room, append) => {
        const bytes = append.revisions.reduce((sum, { data }) => sum + data.length, 0);
        if (bytes > 40) return Promise.reject(new RevcastError('too_large', `${bytes} bytes do not fit`));
        return log.append(room, append);
      },
    };
    const lines = numbered(30).map((n) => (n === '17' ? `"${'x'.repeat(50)}"` : n));
    const skipping = start(from(lines.join('\n')), { ndjsonRaw: true, ndjsonSkipBad: true }, small);
    expect(await skipping.done).toMatchObject({ outcome: 'finished', appended: 29, skipped: 1 });
    expect(await dataIn()).toEqual(numbered(30).filter((n) => n !== '17'));
    const ending = await start(from(lines.join('\n')), { ndjsonRaw: true, ndjsonRoom: 'other' }, small).done;
    expect(ending).toMatchObject({ outcome: 'failed', appended: 17 });
    expect(ending.error?.message).toBe('line 18: 52 bytes do not fit');
    expect(await dataIn('other')).toEqual(numbered(17));
  });

  it('[N3] a file that cannot be read is told', async () => {
    const report = await start(createReadStream('/nowhere/lines.ndjson')).done;
    expect(report).toMatchObject({ outcome: 'failed', lines: 0, appended: 0 });
    expect(report.error?.message).toContain('ENOENT');
  });
});

describe('the log', () => {
  it('[N8] while it fails, or leaves outcomes open, lines are tried again in order; none is lost or stored twice', async () => {
    const outcomes = ['unavailable', 'stored but unknown', 'unknown', 'ok', 'unavailable'] as const;
    let appends = 0;
    const flaky: Pick<SourceLog, 'append'> = {
      append: async (room: string, append: Append) => {
        const outcome = outcomes[appends % outcomes.length];
        appends += 1;
        if (outcome === 'unavailable') throw new RevcastError('log_unavailable', 'the log does not answer');
        if (outcome === 'unknown') throw new RevcastError('outcome_unknown', 'no answer');
        const appended = await log.append(room, append);
        if (outcome === 'stored but unknown') throw new RevcastError('outcome_unknown', 'no answer');
        return appended;
      },
    };
    const text = numbered(300)
      .map((n) => (Number(n) % 10 === 0 ? `{"data":${n},"key":"k${n}"}` : `{"data":${n}}`))
      .join('\n');
    const report = await start(from(text), { ndjsonBatchLines: 20 }, flaky).done;
    expect(report).toMatchObject({ outcome: 'finished', appended: 300, duplicates: 0 });
    expect(await dataIn()).toEqual(numbered(300));
  });

  it('[N8] an error that no retry can mend ends the run', async () => {
    const broken: Pick<SourceLog, 'append'> = { append: () => Promise.reject(new Error('the store is broken')) };
    const input = new PassThrough();
    const source = start(input, {}, broken);
    input.write('{"data":1}\n');
    expect(await source.done).toMatchObject({ outcome: 'failed', lines: 1, appended: 0 });
    expect(input.destroyed).toBe(true);
  });

  it('[N8] stop ends a run that waits for input', async () => {
    const input = new PassThrough();
    const source = start(input, { ndjsonRaw: true });
    input.write('1\n2');
    await waitFor(async () => (await held()).length === 1, { what: 'the first line' });
    await source.stop();
    expect(await source.done).toMatchObject({ outcome: 'stopped', lines: 1, appended: 1 });
    expect(input.destroyed).toBe(true);
  });

  it('[N8] stop ends a run whose log is away, and says how far it came', async () => {
    let appends = 0;
    const leaving: Pick<SourceLog, 'append'> = {
      append: (room, append) => {
        appends += 1;
        if (appends > 2) return Promise.reject(new RevcastError('log_unavailable', 'the log does not answer'));
        return log.append(room, append);
      },
    };
    const source = start(from(numbered(500).join('\n')), { ndjsonRaw: true, ndjsonBatchLines: 10 }, leaving);
    await waitFor(() => logged.about('publishing waits').length === 1, { what: 'a retry' });
    await source.stop();
    await source.stop();
    const report = await source.done;
    expect(report).toMatchObject({ outcome: 'stopped', appended: (await held()).length });
    expect(await dataIn()).toEqual(numbered(report.appended));
  });
});
