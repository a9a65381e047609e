/** The process's connection to NATS: what fails when, what survives, and what limited credentials allow. */
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Msg } from 'nats';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LiveFollower } from '../../services/log/jetstream/live-follower.js';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { RequestError } from '../../services/log/jetstream/request-error.js';
import type { Entry } from '../../services/log/log.js';
import { systemClock } from '../../services/shared/clock.js';
import { SettingsError } from '../../services/shared/settings.js';
import { newRoom, one, rejection, valuesOf } from '../contract/harness.js';
import { testLink } from '../support/jetstream.js';
import { LogLines } from '../support/log-lines.js';
import { connect, openLink, openLog, prepareServer, startServer } from '../support/until-test-ends.js';
import { waitFor } from '../support/wait-for.js';

/** Answers each message with its own data, in capitals. */
function answerInCapitals(link: NatsLink, subject: string, queue?: string): { ready: Promise<void> } {
  return link.subscribe(subject, queue === undefined ? {} : { queue }, (message) => {
    message.respond(Buffer.from(message.string().toUpperCase()));
  });
}

const NOTHING = new Uint8Array(0);

describe('a request', () => {
  test('[L14] is answered, with bytes that are the caller’s own', async () => {
    const server = await startServer();
    const [asker, answerer] = [await connect(server), await connect(server)];
    await answerInCapitals(answerer, 'echo').ready;

    const answers = await Promise.all(['a', 'b'].map((text) => asker.request('echo', Buffer.from(text), 2_000)));

    expect(answers.map((answer) => Buffer.from(answer).toString())).toEqual(['A', 'B']);
    for (const answer of answers) expect(answer.buffer.byteLength).toBe(answer.length);
  });

  test('[L14] fails at once where nobody listens, and while the link is down, as certainly not processed', async () => {
    const server = await startServer();
    const link = await connect(server);

    const nobody = await rejection(link.request('nobody', NOTHING, 5_000));
    await server.stop();
    await waitFor(() => !link.up, { what: 'the link is down' });
    const down = await rejection(link.request('nobody', NOTHING, 5_000));

    expect(nobody).toMatchObject({ code: 'log_unavailable', failure: 'no_responders', certainlyNotProcessed: true });
    expect(down).toMatchObject({ code: 'log_unavailable', failure: 'not_connected', certainlyNotProcessed: true });
  });

  test('[L14] fails after its time where the answer does not come, and at once when the connection breaks', async () => {
    const server = await startServer();
    const [asker, mute] = [await connect(server), await connect(server)];
    await mute.subscribe('mute', {}, () => undefined).ready;

    const late = await rejection(asker.request('mute', NOTHING, 100));
    const startedAt = performance.now();
    const broken = rejection(asker.request('mute', NOTHING, 60_000));
    await server.kill();

    expect(late).toMatchObject({ code: 'log_unavailable', failure: 'timed_out', certainlyNotProcessed: false });
    expect(await broken).toMatchObject({
      code: 'log_unavailable',
      failure: 'disconnected',
      certainlyNotProcessed: false,
    });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  test('[L14] under way fails when the link is closed', async () => {
    const server = await startServer();
    const [asker, mute] = [await connect(server), await connect(server)];
    await mute.subscribe('mute', {}, () => undefined).ready;
    const asking = rejection(asker.request('mute', NOTHING, 60_000));

    await asker.close();
    await asker.close();

    expect(await asking).toMatchObject({ code: 'log_unavailable' });
    expect(await rejection(asker.request('mute', NOTHING, 100))).toMatchObject({ failure: 'not_connected' });
  });

  test('[L14] closing ends a link that is reconnecting, and one that never was connected', async () => {
    const server = await startServer();
    const link = await connect(server);
    await server.kill();
    await waitFor(() => !link.up, { what: 'the link is down' });
    const never = openLink(server);

    const startedAt = performance.now();
    await link.close();
    await never.close();
    expect(performance.now() - startedAt).toBeLessThan(5_000);

    await server.start();
    const later = await connect(server);
    expect([later.up, link.up, never.up]).toEqual([true, false, false]);
  });

  test('[L14] to a server that hangs fails in its time, and a dead connection is noticed in seconds', async () => {
    const server = await startServer();
    const link = await connect(server);

    await server.pause();
    expect(await rejection(link.request('x', NOTHING, 200))).toMatchObject({ failure: 'timed_out' });
    await waitFor(() => !link.up, { timeoutMs: 10_000, what: 'the link noticed' });
    server.resume();

    await waitFor(() => link.up, { timeoutMs: 10_000, what: 'the link is up again' });
    expect(await rejection(link.request('nobody', NOTHING, 2_000))).toMatchObject({ failure: 'no_responders' });
  });
});

describe('a subscription', () => {
  test('[L14] made before the server is there, and over its restarts, gets what is published', async () => {
    const server = await prepareServer();
    const link = openLink(server);
    const seen: string[] = [];
    const subscription = link.subscribe('news', {}, (message) => seen.push(message.string()));
    const ups: boolean[] = [];
    link.onUp((_connection, first) => ups.push(first));

    await server.start();
    await subscription.ready;
    for (const text of ['one', 'two']) {
      link.publish('news', Buffer.from(text), '');
      await waitFor(() => seen.includes(text), { what: `${text} came` });
      await server.kill();
      await waitFor(() => !link.up, { what: 'the link is down' });
      await server.start();
      await waitFor(() => link.up, { what: 'the link is up again' });
    }

    expect(seen).toEqual(['one', 'two']);
    expect(ups).toEqual([true, false, false]);
  });

  test('[L14] goes on after its listener threw, which is logged', async () => {
    const server = await startServer();
    const output = new LogLines();
    const link = await connect(server, { logger: output.logger });
    const seen: string[] = [];
    const listener = (message: Msg): void => {
      seen.push(message.string());
      throw new Error('the listener is broken');
    };
    await link.subscribe('news', {}, listener).ready;

    for (const text of ['one', 'two']) link.publish('news', Buffer.from(text), '');

    await waitFor(() => seen.length === 2, { what: 'both came' });
    expect(output.about('a listener failed')).toHaveLength(2);
  });

  test('[L14] with a queue shares what comes; after stop nothing comes', async () => {
    const server = await startServer();
    const [left, right, asker] = [await connect(server), await connect(server), await connect(server)];
    let calls = 0;
    const count = (): void => {
      calls += 1;
    };
    const subscriptions = [left, right].map((link) => link.subscribe('work', { queue: 'workers' }, count));
    for (const { ready } of subscriptions) await ready;

    for (let i = 0; i < 20; i += 1) asker.publish('work', NOTHING, '');
    await waitFor(() => calls === 20, { what: 'all work was done' });
    for (const subscription of subscriptions) subscription.stop();
    await waitFor(
      async () => {
        const error = await rejection(asker.request('work', NOTHING, 100));
        return error instanceof RequestError && error.failure === 'no_responders';
      },
      { what: 'the server knows that nobody is left' },
    );

    expect(calls).toBe(20);
  });

  test('[L14] 20,000 are made in one go', async () => {
    const server = await startServer();
    const link = await connect(server);
    let calls = 0;
    const subscriptions = Array.from({ length: 20_000 }, (_, index) =>
      link.subscribe(`many.${index}`, {}, () => {
        calls += 1;
      }),
    );
    await Promise.all(subscriptions.map(({ ready }) => ready));

    link.publish('many.0', NOTHING, '');
    link.publish('many.19999', NOTHING, '');

    await waitFor(() => calls === 2, { what: 'both came' });
    expect(calls).toBe(2);
  });
});

describe('credentials', () => {
  /** What an edge is allowed: it subscribes live, hints and the advisories, and uses an inbox of its own. */
  const USERS = `
    accounts {
      APP {
        jetstream: enabled
        users: [
          { user: "producer", password: "p" }
          { user: "edge", password: "e", permissions: {
              publish: ["revcast.>"]
              subscribe: ["live.>", "hint.>", "$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.REVISIONS", "_INBOX_edge.>"]
          } }
        ]
      }
    }`;

  test('[L5] that allow only live, hints and the advisories are enough to follow, and for nothing of JetStream', async () => {
    const server = await startServer({ config: USERS });
    const producer = await openLog(server, { nats: { natsUser: 'producer', natsPassword: 'p' } });
    const output = new LogLines();
    const nats = { natsUser: 'edge', natsPassword: 'e', natsInbox: '_INBOX_edge' };
    const link = await connect(server, { nats, logger: output.logger });
    const live = new LiveFollower({ link, logger: output.logger, clock: systemClock, tellsReconnects: true });
    const room = newRoom();
    const seen: Entry[] = [];
    const disturbances: string[] = [];
    live.onDisturbance((disturbance) => disturbances.push(disturbance));
    await live.follow([room], (entry) => seen.push(entry)).ready;

    await producer.log.append(room, one('x'));
    await waitFor(() => seen.length === 1, { what: 'the entry came' });

    expect(valuesOf(seen)).toEqual([[1, 'x']]);
    expect(live.status()).toEqual({ state: 'ready' });
    expect(output.about('nats_not_permitted')).toEqual([]);
    expect(await rejection(link.request('$JS.API.STREAM.INFO.REVISIONS', NOTHING, 2_000))).toMatchObject({
      code: 'log_unavailable',
      failure: 'not_permitted',
    });
    const forbidden = await rejection(link.subscribe('rev.>', {}, () => undefined).ready);
    expect(forbidden).toMatchObject({ failure: 'not_permitted' });

    await server.kill();
    await waitFor(() => live.status().state === 'unavailable', { what: 'the loss was noticed' });
    await server.start();
    await waitFor(() => disturbances.includes('reconnected'), { what: 'the reconnect was told' });
    await live.close();
  });

  test('[L14] that are wrong are waited with, and said once, without the password', async () => {
    const server = await startServer({ config: USERS });
    const output = new LogLines();
    const address = server.url.replace('nats://', 'nats://someone:secret@');
    const link = openLink({ url: address }, { logger: output.logger });

    await waitFor(() => output.about('nats_user_refused').length > 0, { what: 'it was said' });
    await new Promise((resolve) => setTimeout(resolve, 1_200));

    expect(link.up).toBe(false);
    expect(output.about('nats_user_refused')).toMatchObject([{ reason: 'AUTHORIZATION_VIOLATION' }]);
    expect(output.about('waiting')).toEqual([]);
    expect(JSON.stringify(output.lines)).not.toContain('secret');
  });

  test('[A7] an address tls://, or authorities, are never served unencrypted', async () => {
    const server = await startServer();
    const authorities = join(tmpdir(), `revcast-ca-${process.pid}.pem`);
    await writeFile(authorities, '');
    onTestFinished(() => rm(authorities));
    const output = new LogLines();
    const links = [
      testLink(server.url.replace('nats://', 'tls://'), { logger: output.logger }),
      testLink(server.url, { logger: output.logger, nats: { natsTlsCa: authorities } }),
    ];
    for (const link of links) {
      onTestFinished(() => link.close());
      link.start();
    }

    await waitFor(() => links.every(({ failure }) => failure !== undefined), { what: 'both have failed' });

    expect(links.map(({ up }) => up)).toEqual([false, false]);
    expect(links.map(({ failure }) => failure)).toEqual([
      expect.stringContaining('tls'),
      expect.stringContaining('tls'),
    ]);
  });

  test('[L14] in a file that cannot be read are a configuration error', async () => {
    const path = join(tmpdir(), `revcast-none-${process.pid}.creds`);
    const settings = { nats: { natsCredentials: path } };

    expect(() => testLink('nats://127.0.0.1:1', settings)).toThrow(SettingsError);

    await writeFile(path, 'anything');
    onTestFinished(() => rm(path));
    expect(testLink('nats://127.0.0.1:1', settings).up).toBe(false);
  });
});
