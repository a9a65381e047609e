/** The users of deploy/nats/users.conf on a real server: what each may do, and that it may do nothing else. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BareUser, NATS_USERS, startNatsWithUsers, type NatsUser } from '../support/nats-users.js';
import type { NatsServer } from '../support/nats-server.js';

const STREAMS = ['REVISIONS', 'SNAPSHOTS'];
const OTHER_SUBJECTS = [
  'anything',
  '$KV.bucket.key',
  '$SYS.REQ.SERVER.PING',
  '$JS.ACK.REVISIONS.c.1.1.1.1.0',
  '_INBOX.x',
];
const RPC = ['rpc.revision.heads', 'rpc.revision.range', 'rpc.revision.snapshot', 'rpc.producer.append'];
const LEADER_ELECTED = '$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.REVISIONS';

/** Everything that could do harm, or tell, if somebody might publish it. */
const PUBLISHED = [
  'rev.3.cm9vbQ',
  'live.3.cm9vbQ',
  'hint.3.cm9vbQ',
  'snap.3.cm9vbQ',
  ...RPC,
  'rpc.other',
  ...OTHER_SUBJECTS,
  ...NATS_USERS.map((user) => `_INBOX_${user}.x`),
  ...['INFO', 'STREAM.NAMES', 'STREAM.LIST', 'META.LEADER.STEPDOWN', 'ACCOUNT.PURGE.REVCAST'].map(api),
  ...STREAMS.flatMap(verbsOf).map(api),
  '$JS.SNAPSHOT.ACK.REVISIONS.x',
  '$JS.SNAPSHOT.RESTORE.REVISIONS.x',
  ...STREAMS.map((stream) => `$JS.FC.${stream}.name.x`),
  ...['STREAM.CREATE.OTHER', 'STREAM.DELETE.OTHER', 'STREAM.MSG.GET.OTHER', 'CONSUMER.CREATE.OTHER.name'].map(api),
];

const SUBSCRIBED = [
  '>',
  'live.>',
  'live.3.cm9vbQ',
  'hint.>',
  'rev.>',
  'rev.3.cm9vbQ',
  'snap.>',
  ...RPC,
  ...RPC.flatMap((subject) => [`${subject} revision`, `${subject} producer`, `${subject} other`]),
  'rpc.>',
  '_INBOX.>',
  '_INBOX_edge.*.x',
  ...OTHER_SUBJECTS,
  ...NATS_USERS.map((user) => `_INBOX_${user}.>`),
  '$JS.API.>',
  '$SYS.>',
  '$JS.EVENT.ADVISORY.>',
  LEADER_ELECTED,
  '$JS.EVENT.ADVISORY.API',
];

const READS = [
  'STREAM.INFO.REVISIONS',
  'STREAM.MSG.GET.REVISIONS',
  'DIRECT.GET.REVISIONS',
  'DIRECT.GET.REVISIONS.rev.3.cm9vbQ',
  'CONSUMER.CREATE.REVISIONS.name.rev.3.cm9vbQ',
  'CONSUMER.DELETE.REVISIONS.name',
  'CONSUMER.MSG.NEXT.REVISIONS.name',
  'STREAM.INFO.SNAPSHOTS',
  'STREAM.MSG.GET.SNAPSHOTS',
  'DIRECT.GET.SNAPSHOTS.rev.3.cm9vbQ',
].map(api);

interface Allowed {
  readonly publishes: readonly string[];
  readonly subscribes: readonly string[];
}

const ALLOWED: Record<NatsUser, Allowed> = {
  admin: {
    publishes: PUBLISHED.filter((subject) => /^\$JS\.(?:API|SNAPSHOT)\./u.test(subject)),
    subscribes: ['_INBOX_admin.>', '$JS.EVENT.ADVISORY.>', LEADER_ELECTED, '$JS.EVENT.ADVISORY.API'],
  },
  producer: {
    publishes: ['rev.3.cm9vbQ', 'hint.3.cm9vbQ', 'snap.3.cm9vbQ', '_INBOX_edge.x', ...READS],
    subscribes: ['_INBOX_producer.>', 'rpc.producer.append producer', LEADER_ELECTED],
  },
  revision: {
    publishes: [
      '_INBOX_edge.x',
      ...READS,
      api('CONSUMER.CREATE.REVISIONS.name'),
      '$JS.FC.REVISIONS.name.x',
      '$JS.ACK.REVISIONS.c.1.1.1.1.0',
    ],
    subscribes: [
      '_INBOX_revision.>',
      ...['heads', 'range', 'snapshot'].map((name) => `rpc.revision.${name} revision`),
      LEADER_ELECTED,
    ],
  },
  edge: {
    publishes: RPC,
    subscribes: ['_INBOX_edge.>', '_INBOX_edge.*.x', 'live.>', 'live.3.cm9vbQ', 'hint.>', LEADER_ELECTED],
  },
  gc: {
    publishes: [
      'STREAM.INFO.REVISIONS',
      'STREAM.PURGE.REVISIONS',
      'STREAM.MSG.GET.REVISIONS',
      'STREAM.MSG.GET.SNAPSHOTS',
      'CONSUMER.CREATE.REVISIONS',
      'CONSUMER.DELETE.REVISIONS.name',
    ].map(api),
    subscribes: ['_INBOX_gc.>'],
  },
};

/** Of JetStream's interface, for one stream. */
function verbsOf(stream: string): string[] {
  return [
    `STREAM.CREATE.${stream}`,
    `STREAM.UPDATE.${stream}`,
    `STREAM.DELETE.${stream}`,
    `STREAM.PURGE.${stream}`,
    `STREAM.INFO.${stream}`,
    `STREAM.SNAPSHOT.${stream}`,
    `STREAM.RESTORE.${stream}`,
    `STREAM.LEADER.STEPDOWN.${stream}`,
    `STREAM.PEER.REMOVE.${stream}`,
    `STREAM.MSG.GET.${stream}`,
    `STREAM.MSG.DELETE.${stream}`,
    `DIRECT.GET.${stream}`,
    `DIRECT.GET.${stream}.rev.3.cm9vbQ`,
    `CONSUMER.CREATE.${stream}`,
    `CONSUMER.CREATE.${stream}.name`,
    `CONSUMER.CREATE.${stream}.name.rev.3.cm9vbQ`,
    `CONSUMER.CREATE.${stream}.name.snap.3.cm9vbQ`,
    `CONSUMER.DURABLE.CREATE.${stream}.name`,
    `CONSUMER.LIST.${stream}`,
    `CONSUMER.DELETE.${stream}.name`,
    `CONSUMER.INFO.${stream}.name`,
    `CONSUMER.MSG.NEXT.${stream}.name`,
  ];
}

function whoPublishes(subject: string): NatsUser[] {
  return NATS_USERS.filter((user) => ALLOWED[user].publishes.includes(subject));
}

function api(verb: string): string {
  return `$JS.API.${verb}`;
}

function sorted(subjects: readonly string[]): string[] {
  return [...subjects].sort((a, b) => a.localeCompare(b));
}

describe('users.conf', () => {
  let server: NatsServer;

  beforeAll(async () => {
    server = await startNatsWithUsers();
  });
  afterAll(async () => {
    await server.dispose();
  });

  test.each(NATS_USERS)('[A2] %s may publish what its service does, and nothing else', async (name) => {
    const user = await BareUser.connect(server, name);
    const allowed = await user.mayPublish(PUBLISHED);
    await user.close();

    expect(sorted(allowed)).toEqual(sorted(ALLOWED[name].publishes));
  });

  test.each(NATS_USERS)('[A2] %s may subscribe to what its service does, and to no answers of others', async (name) => {
    const user = await BareUser.connect(server, name);
    const allowed = await user.maySubscribe(SUBSCRIBED);
    await user.close();

    expect(sorted(allowed)).toEqual(sorted(ALLOWED[name].subscribes));
  });

  test('[A2] nobody publishes live, and only the producer writes to the log', () => {
    expect(whoPublishes('live.3.cm9vbQ')).toEqual([]);
    expect(whoPublishes('rev.3.cm9vbQ')).toEqual(['producer']);
    expect(whoPublishes('snap.3.cm9vbQ')).toEqual(['producer']);
    for (const verb of ['CREATE', 'UPDATE', 'DELETE'])
      expect(whoPublishes(api(`STREAM.${verb}.REVISIONS`))).toEqual(['admin']);
  });
});
