/** The Etherpad source against a stand-in on the real socket.io server, on the log in memory: what the room then holds. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryLog } from '../../services/log/memory-log.js';
import type { PadLog } from '../../services/producer/sources/etherpad-room.js';
import type { EtherpadValues } from '../../services/producer/sources/etherpad-settings.js';
import { systemClock } from '../../services/shared/clock.js';
import { RevcastError } from '../../services/shared/errors.js';
import { padLog, readPadRoom, startPadSource, type StartedPadSource } from '../support/etherpad/source-parts.js';
import { EtherpadStandIn, type StandInOptions } from '../support/etherpad/stand-in.js';
import { Random, testSeed } from '../support/random.js';

const WAIT = { timeout: 30_000, interval: 20 };
const SEED = testSeed();

let log: MemoryLog;
let server: EtherpadStandIn;
let sources: StartedPadSource[];

async function setUp(options: StandInOptions = {}): Promise<void> {
  log = new MemoryLog({ clock: systemClock });
  server = await EtherpadStandIn.start(options);
  sources = [];
}

async function tearDown(): Promise<void> {
  for (const { source } of sources) await source.stop();
  await server.stop();
  await log.close();
}

function start(settings: Partial<EtherpadValues> = {}, ownLog: PadLog = log): StartedPadSource {
  const started = startPadSource(server.url, ownLog, settings);
  sources.push(started);
  return started;
}

/** Every revision of the pad from where the room began, once and in order; and the text with its attributes. */
async function untilRoomHoldsPad(): Promise<string> {
  return vi.waitFor(async () => {
    const pad = server.pad('notes');
    const room = await readPadRoom(log);
    if (room === null) throw new Error('the room has not begun');
    expect(room.revisions.map(({ rev }) => rev)).toEqual(
      Array.from({ length: pad.head - room.firstRev }, (_, index) => room.firstRev + 1 + index),
    );
    for (const { rev, changeset, author, currentTime, storedAuthor } of room.revisions) {
      expect({ rev, changeset, author, currentTime }).toMatchObject(withoutPool(pad.revision(rev)));
      expect(storedAuthor).toBe(author);
    }
    expect(room.text.content).toEqual(pad.content);
    return room.epoch;
  }, WAIT);
}

function withoutPool({ apool: _apool, ...revision }: { apool: unknown; rev: number }): object {
  return revision;
}

async function untilFollowed(count = 1): Promise<void> {
  await vi.waitFor(() => expect(server.resumed).toBe(count), WAIT);
}

afterEach(tearDown);

describe.each([3, 4] as const)('with Engine.IO %i', (engine) => {
  beforeEach(() => setUp({ engine }));

  it('[X1] [X3] a room begins with the pad as it is, and every revision follows under its own number', async () => {
    const random = new Random(SEED);
    for (let edits = 0; edits < 5; edits += 1) server.edit('notes', (pad) => pad.editAtRandom(random));
    const { faults, lines } = start();
    await untilRoomHoldsPad();
    expect((await log.heads(['pad:notes'])).get('pad:notes')?.rev).toBe(5);
    await untilFollowed();
    for (let edits = 0; edits < 300; edits += 1) server.edit('notes', (pad) => pad.editAtRandom(random));
    await untilRoomHoldsPad();
    expect(faults).toEqual([]);
    expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
  }, 60_000);

  it('[X4] a connection that is lost again and again costs no revision and doubles none', async () => {
    const random = new Random(SEED);
    start();
    const epoch = await untilRoomHoldsPad();
    for (let round = 0; round < 8; round += 1) {
      for (let edits = 0; edits < 20; edits += 1) server.edit('notes', (pad) => pad.editAtRandom(random));
      server.cut();
      for (let edits = 0; edits < 20; edits += 1) server.edit('notes', (pad) => pad.editAtRandom(random));
      await untilRoomHoldsPad();
    }
    // The same revisions once more, as Etherpad sends them after a resume.
    await untilFollowed();
    server.edit('notes', (pad) => pad.editAtRandom(random));
    expect(await untilRoomHoldsPad()).toBe(epoch);
  }, 60_000);

  it('[X4] a server that is stopped and started again is found again, and told of once', async () => {
    const { lines } = start();
    await untilRoomHoldsPad();
    await untilFollowed();
    await server.stop();
    for (let edits = 0; edits < 10; edits += 1) server.edit('notes', (pad) => pad.append('later\n'));
    await vi.waitFor(() => expect(lines.some(({ msg }) => msg === 'publishing waits')).toBe(true), WAIT);
    await server.listen();
    await untilRoomHoldsPad();
    await untilFollowed();
    server.edit('notes', (pad) => pad.append('again\n'));
    await untilRoomHoldsPad();
    expect(lines.filter(({ level }) => level >= 40)).toHaveLength(1);
  });

  it('[X6] a pad that has lost revisions begins the room anew, once, with what the pad has', async () => {
    const { lines, faults } = start();
    await untilRoomHoldsPad();
    await untilFollowed();
    for (let edits = 0; edits < 30; edits += 1) server.edit('notes', (pad) => pad.append('word '));
    const epoch = await untilRoomHoldsPad();
    server.pads.delete('notes');
    server.edit('notes', (pad) => pad.append('another\n'));
    server.cut();
    const next = await untilRoomHoldsPad();
    expect(next).not.toBe(epoch);
    await untilFollowed();
    server.edit('notes', (pad) => pad.append('on\n'));
    expect(await untilRoomHoldsPad()).toBe(next);
    expect(lines.filter(({ msg }) => msg.startsWith('the pad has lost its history'))).toHaveLength(1);
    expect(faults).toEqual([]);
  });
});

describe('with one server', () => {
  beforeEach(() => setUp());

  it('[X6] another pad of as many revisions is not mixed with the room, its revisions do not fit', async () => {
    start();
    await untilRoomHoldsPad();
    await untilFollowed();
    for (let edits = 0; edits < 5; edits += 1) server.edit('notes', (pad) => pad.append('word '));
    const epoch = await untilRoomHoldsPad();
    server.pads.delete('notes');
    for (let edits = 0; edits < 9; edits += 1) server.edit('notes', (pad) => pad.append('quite another '));
    server.cut();
    expect(await untilRoomHoldsPad()).not.toBe(epoch);
  });

  it('[X5] two sources on one room publish each revision once, together, also when the pad loses its history', async () => {
    const random = new Random(SEED);
    const both = [start(), start()];
    await untilRoomHoldsPad();
    await untilFollowed(2);
    for (let round = 0; round < 5; round += 1) {
      for (let edits = 0; edits < 40; edits += 1) server.edit('notes', (pad) => pad.editAtRandom(random));
      if (round % 2 === 1) server.cut();
    }
    const epoch = await untilRoomHoldsPad();
    server.pads.delete('notes');
    server.cut();
    const next = await untilRoomHoldsPad();
    expect(next).not.toBe(epoch);
    await untilFollowed(2);
    for (let edits = 0; edits < 40; edits += 1) server.edit('notes', (pad) => pad.editAtRandom(random));
    // One of them began it anew, the other goes along.
    expect(await untilRoomHoldsPad()).toBe(next);
    for (const { faults } of both) expect(faults).toEqual([]);
  }, 60_000);

  it('[X2] a newcomer’s snapshot is renewed after so many revisions, and at each connect', async () => {
    start({ etherpadSnapshotRevisions: 10 });
    await untilRoomHoldsPad();
    await untilFollowed();
    for (let edits = 0; edits < 35; edits += 1) {
      server.edit('notes', (pad) => pad.append('word '));
      await untilRoomHoldsPad();
    }
    await vi.waitFor(async () => expect((await log.snapshot('pad:notes'))?.rev).toBeGreaterThanOrEqual(25), WAIT);
    await untilRoomHoldsPad();
    const { head } = server.pad('notes');
    server.cut();
    await vi.waitFor(async () => expect((await log.snapshot('pad:notes'))?.rev).toBe(head), WAIT);
    await untilRoomHoldsPad();
  });

  it.each([
    ['are too large', new RevcastError('too_large', 'too large')],
    ['cannot be stored now', new RevcastError('log_unavailable', 'not now')],
    ['are behind another source’s', new RevcastError('snapshot_outdated', 'later ones are kept')],
  ])('[X2] snapshots that %s stop no revision', async (_name, error) => {
    let begun = false;
    let refused = 0;
    const refusing = padLog(log, {
      putSnapshot: (room, snapshot) => {
        if (!begun) {
          begun = true;
          return log.putSnapshot(room, snapshot);
        }
        refused += 1;
        return Promise.reject(error);
      },
    });
    const { faults } = start({ etherpadSnapshotRevisions: 10 }, refusing);
    const epoch = await untilRoomHoldsPad();
    await untilFollowed();
    for (let edits = 0; edits < 60; edits += 1) {
      server.edit('notes', (pad) => pad.append('word '));
      if (edits % 5 === 0) await untilRoomHoldsPad();
    }
    expect(await untilRoomHoldsPad()).toBe(epoch);
    await vi.waitFor(() => expect(refused).toBeGreaterThan(0), WAIT);
    expect(faults).toEqual([]);
  });

  it('[X7] a pad that is many revisions ahead of a slow log is caught up with, in parts', async () => {
    const slow = padLog(log, {
      append: async (room, append) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return log.append(room, append);
      },
    });
    const { source } = start({}, slow);
    const epoch = await untilRoomHoldsPad();
    await source.stop();
    const ahead = 25_000;
    for (let edits = 0; edits < ahead; edits += 1) server.pad('notes').splice(0, 1, String(edits % 10));
    const { faults, lines } = start({ etherpadTimeoutMs: 30_000 }, slow);
    await vi.waitFor(async () => {
      expect((await log.heads(['pad:notes'])).get('pad:notes')?.rev).toBe(ahead);
    }, WAIT);
    expect(await untilRoomHoldsPad()).toBe(epoch);
    expect(faults).toEqual([]);
    expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
    // More than one resume was needed.
    expect(server.ready.filter((message) => message['reconnect'] === true).length).toBeGreaterThan(2);
  }, 90_000);

  it('[X7] while the log fails, revisions wait; none is lost or doubled', async () => {
    const random = new Random(SEED);
    let failing = false;
    const flaky = padLog(log, {
      append: async (room, append) => {
        // Some are stored and the answer is lost, some are not stored.
        if (failing && random.chance(0.5)) throw new RevcastError('log_unavailable', 'not now');
        const appended = await log.append(room, append);
        if (failing && random.chance(0.5)) throw new RevcastError('outcome_unknown', 'no answer');
        return appended;
      },
    });
    const { faults } = start({}, flaky);
    const epoch = await untilRoomHoldsPad();
    await untilFollowed();
    failing = true;
    for (let edits = 0; edits < 100; edits += 1) {
      server.edit('notes', (pad) => pad.editAtRandom(random));
      if (edits % 10 === 0) await new Promise(setImmediate);
    }
    expect(await untilRoomHoldsPad()).toBe(epoch);
    expect(faults).toEqual([]);
  });

  it('[X8] a server that stays silent is given up and connected to again, with a token of its own each time', async () => {
    server.misbehaviour.silent = true;
    const { lines } = start({ etherpadTimeoutMs: 100 });
    await vi.waitFor(() => expect(server.ready.length).toBeGreaterThan(3), WAIT);
    expect(lines.filter(({ level }) => level >= 40)).toHaveLength(1);
    server.misbehaviour.silent = false;
    await untilRoomHoldsPad();
    const tokens = server.ready.map(({ token }) => String(token));
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(tokens.every((token) => /^t\.(?:[\w-]{4})+$/u.test(token))).toBe(true);
  });

  it.each([
    ['deleted', { disconnect: 'deleted' }],
    ['taken for another', { disconnect: 'userdup' }],
  ])('[X8] a session that Etherpad ends (%s) is begun again', async (_name, message) => {
    start();
    await untilRoomHoldsPad();
    await untilFollowed();
    const before = server.ready.length;
    server.tell('notes', message);
    await vi.waitFor(() => expect(server.ready.length).toBeGreaterThan(before + 1), WAIT);
    await untilFollowed();
    server.edit('notes', (pad) => pad.append('on\n'));
    await untilRoomHoldsPad();
  });

  it.each([
    ['no access', { accessStatus: 'deny' }],
    ['CLIENT_VARS without a text', { type: 'CLIENT_VARS', data: { collab_client_vars: { rev: 3 } } }],
    ['a changeset that is none', newChanges({ changeset: 'Z:1>1' })],
    ['an attribute pool that is none', newChanges({ apool: { numToAttrib: { 0: 'bold' }, nextNum: 1 } })],
    ['a changeset of a text that never was', newChanges({ changeset: 'Z:1<5$' })],
    ['a revision that is no number', newChanges({ newRev: '1' })],
  ])('[X9] of a server that answers %s nothing is published, it is asked again', async (_name, answer) => {
    server.misbehaviour.answer = answer;
    const { lines, faults } = start({ etherpadTimeoutMs: 300 });
    await vi.waitFor(() => expect(server.ready.length).toBeGreaterThan(3), WAIT);
    expect(await readPadRoom(log)).toBeNull();
    expect(lines.filter(({ level }) => level >= 40)).toHaveLength(1);
    expect(faults).toEqual([]);
    server.misbehaviour.answer = undefined;
    await untilRoomHoldsPad();
  });

  it('[X9] a revision that comes too early, or once more, is not published', async () => {
    start();
    await untilRoomHoldsPad();
    await untilFollowed();
    server.edit('notes', (pad) => pad.append('one\n'));
    await untilRoomHoldsPad();
    const last = server.pad('notes').revision(1);
    server.tell('notes', newChanges({ ...last, newRev: 1 }));
    server.tell('notes', newChanges({ ...last, newRev: 3 }));
    await vi.waitFor(() => expect(server.ready.length).toBeGreaterThan(3), WAIT);
    await untilFollowed();
    server.edit('notes', (pad) => pad.append('two\n'));
    await untilRoomHoldsPad();
  });

  it('[X10] a room that holds something else ends the source, once, and is left as it is', async () => {
    await log.append('pad:notes', { revisions: [{ data: Buffer.from('{"a":1}') }] });
    const { faults } = start();
    await vi.waitFor(() => expect(faults).toHaveLength(1), WAIT);
    expect(faults[0]?.message).toContain('no revision of a pad');
    expect((await log.heads(['pad:notes'])).get('pad:notes')?.rev).toBe(1);
  });

  it('[X10] a revision that the log can never take ends the source, after all before it', async () => {
    const narrow = padLog(log, {
      append: (room, append) =>
        append.revisions.some(({ data }) => data.byteLength > 5_000)
          ? Promise.reject(new RevcastError('too_large', 'too large'))
          : log.append(room, append),
    });
    const { faults } = start({}, narrow);
    await untilRoomHoldsPad();
    await untilFollowed();
    server.edit('notes', (pad) => {
      for (let edits = 0; edits < 6; edits += 1) pad.append('word\n');
      pad.append('x'.repeat(6_000));
    });
    await vi.waitFor(() => expect(faults).toHaveLength(1), WAIT);
    expect((await log.heads(['pad:notes'])).get('pad:notes')?.rev).toBe(6);
  });

  it('[X11] of the address only the host is logged', async () => {
    const { port } = server;
    const started = startPadSource(`http://someone:secret@127.0.0.1:${port}/under/`, log);
    sources.push(started);
    await vi.waitFor(() => expect(started.lines.length).toBeGreaterThan(0), WAIT);
    const text = JSON.stringify(started.lines);
    expect(text).toContain(`127.0.0.1:${port}`);
    expect(text).not.toMatch(/secret|someone|under/u);
  });
});

function newChanges(data: object): object {
  const revision = { newRev: 1, changeset: 'Z:1>1=0+1$x', apool: { numToAttrib: {}, nextNum: 0 }, author: 'a.x' };
  return { type: 'COLLABROOM', data: { type: 'NEW_CHANGES', ...revision, currentTime: 1, ...data } };
}
