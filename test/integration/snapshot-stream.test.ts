/** The stream behind the snapshots, on a real server: made, compared, full, removed, and its server killed. */
import { describe, expect, test } from 'vitest';
import { SNAPSHOT_STREAM, snapshotSubject } from '../../services/log/subjects.js';
import { data, many, newRoom, one, rejection } from '../contract/harness.js';
import { streamApi, type TestLogOptions } from '../support/jetstream.js';
import { UnreliableSnapshots } from '../support/unreliable-stores.js';
import { connect, openLog, startLog, startServer } from '../support/until-test-ends.js';
import { waitFor } from '../support/wait-for.js';

const MIB = 1024 * 1024;

function text(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}

describe('the stream of snapshots', () => {
  test('[L13] is made as the settings say, and keeps one message a room', async () => {
    const server = await startServer();
    const { log, link } = await openLog(server, { settings: { logMaxSnapshotBytes: 64 * MIB } });
    const [room, other] = [newRoom(), newRoom()];
    for (const name of [room, other]) await log.append(name, many([1, 2, 3]));
    for (const rev of [1, 2, 3]) await log.putSnapshot(room, { rev, data: data(rev) });
    await log.putSnapshot(other, { rev: 1, data: data(1) });

    expect(await streamApi(link, `STREAM.INFO.${SNAPSHOT_STREAM}`)).toMatchObject({
      config: {
        subjects: ['snap.>'],
        storage: 'file',
        num_replicas: 1,
        allow_direct: true,
        discard: 'new',
        max_age: 0,
        max_msgs_per_subject: 1,
        max_bytes: 64 * MIB,
      },
      state: { messages: 2 },
    });
  });

  test('[L13] with other settings is refused by name, and nothing is changed', async () => {
    const server = await startServer();
    const link = await connect(server);
    const theirs = { name: SNAPSHOT_STREAM, subjects: ['snap.>'], max_msgs_per_subject: 7 };
    await streamApi(link, `STREAM.CREATE.${SNAPSHOT_STREAM}`, theirs);
    const opened = startLog(server);

    await waitFor(() => opened.log.status().state === 'unavailable', { what: 'the stream was refused' });

    const status = opened.log.status();
    const detail = status.state === 'unavailable' ? status.detail : '';
    expect(detail).toContain(`stream ${SNAPSHOT_STREAM} exists with other settings`);
    expect(detail).toContain('max_msgs_per_subject is 7, wanted 1');
    expect(await streamApi(link, `STREAM.INFO.${SNAPSHOT_STREAM}`)).toMatchObject({
      config: { max_msgs_per_subject: 7 },
    });
  });

  test('[S2] when it is full a snapshot is refused with log_full, the kept ones stay, and revisions go on', async () => {
    const server = await startServer();
    const { log } = await openLog(server, { settings: { logMaxSnapshotBytes: MIB } });
    const rooms = Array.from({ length: 4 }, () => newRoom());
    const large = data('x'.repeat(400_000));
    for (const room of rooms) await log.append(room, one(1));
    const outcomes = await Promise.allSettled(rooms.map((room) => log.putSnapshot(room, { rev: 1, data: large })));

    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused).toHaveLength(2);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'log_full' });
    const kept = await Promise.all(rooms.map((room) => log.snapshot(room)));
    expect(kept.filter((snapshot) => snapshot !== null)).toHaveLength(2);
    expect(await log.append(rooms[0] ?? '', one(2))).toMatchObject({ rev: 2 });
  });

  test('[S4] that was removed is made again, and the put under way arrives', async () => {
    const server = await startServer();
    const { log, link } = await openLog(server, { settings: { appendDeadlineMs: 20_000 } });
    const room = newRoom();
    await log.append(room, many([1, 2]));
    await log.putSnapshot(room, { rev: 1, data: data('one') });

    await streamApi(link, `STREAM.DELETE.${SNAPSHOT_STREAM}`);

    expect(await log.putSnapshot(room, { rev: 2, data: data('two') })).toMatchObject({ rev: 2 });
    expect(text((await log.snapshot(room))?.data)).toBe('"two"');
  });

  test('[S1] that holds what revcast did not write is an error of that room only', async () => {
    const server = await startServer();
    const { log, link } = await openLog(server);
    const [room, other] = [newRoom(), newRoom()];
    for (const name of [room, other]) await log.append(name, one(1));
    await log.putSnapshot(other, { rev: 1, data: data('sound') });
    await link.request(snapshotSubject(room), Buffer.from('nonsense'), 5_000);

    expect(await rejection(log.snapshot(room))).toMatchObject({ code: 'internal' });
    expect(text((await log.snapshot(other))?.data)).toBe('"sound"');
  });
});

describe('a server that is killed', () => {
  test('[S4] between a put and its answer: it is kept once, and answered when the server is back', async () => {
    const server = await startServer();
    const { log } = await openLog(server, {
      settings: { appendDeadlineMs: 60_000, logRequestTimeoutMs: 500 },
      wrapSnapshots: (inner) => new UnreliableSnapshots(inner, (put) => (put === 1 ? 'answer_lost' : 'arrives')),
    });
    const room = newRoom();
    await log.append(room, many([1, 2, 3]));

    const putting = log.putSnapshot(room, { rev: 2, data: data('two') });
    await waitFor(async () => (await log.snapshot(room)) !== null, { what: 'the put arrived' });
    const killed = server.kill().then(() => server.start());
    const put = await putting;
    await killed;

    expect(put).toMatchObject({ rev: 2 });
    const again = await openLog(server);
    expect(text((await again.log.snapshot(room))?.data)).toBe('"two"');
    expect(await again.log.putSnapshot(room, { rev: 3, data: data('three') })).toMatchObject({ rev: 3 });
  });

  test('[S5] while a room begins: it has begun once, with its snapshot, or not at all', async () => {
    const server = await startServer();
    const options: TestLogOptions = { settings: { appendDeadlineMs: 60_000, logRequestTimeoutMs: 500 } };
    const { log } = await openLog(server, options);
    const rooms = Array.from({ length: 40 }, () => newRoom());

    const putting = Promise.all(
      rooms.map(async (room, index) => {
        // One after the other, so that the server is killed somewhere among them.
        await new Promise((resolve) => setTimeout(resolve, index * 5));
        return log.putSnapshot(room, { rev: 1_000, data: data(`content of ${room}`) });
      }),
    );
    await waitFor(async () => (await log.snapshot(rooms[10] ?? '')) !== null, { what: 'some have begun' });
    await server.kill();
    await server.start();
    const begun = await putting;

    const { log: other } = await openLog(server);
    for (const [index, room] of rooms.entries()) {
      expect(text((await other.snapshot(room))?.data)).toBe(JSON.stringify(`content of ${room}`));
      expect(await other.append(room, one('a'))).toMatchObject({ epoch: begun[index]?.epoch, rev: 1_001 });
    }
  });
});
