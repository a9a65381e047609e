/**
 * The streams REVISIONS and SNAPSHOTS: created where they are missing, else compared with what is wanted, field by field, in the fields
 * that revcast sets and only in those. A stream with other settings is never changed: it may be someone's data, and
 * two processes with different settings would change it back and forth. The operator decides.
 */
import { RevcastError } from '../../shared/errors.js';
import type { Values } from '../../shared/settings.js';
import type { LogExtent } from '../log.js';
import type { logSettings } from '../settings.js';
import { LIVE_SUBJECTS, SNAPSHOT_STREAM, SNAPSHOT_SUBJECTS, STORED_SUBJECTS, STREAM } from '../subjects.js';
import { API_ERROR, ApiError, type JetStreamApi } from './api.js';
import { RequestError } from './request-error.js';

/** What the log looks at in a stream's description. */
export interface StreamInfo {
  readonly config: Readonly<Record<string, unknown>>;
  /** When the stream was made, as the server writes it: another one means another stream. */
  readonly created: string;
  readonly state: { readonly last_seq: number; readonly messages: number; readonly num_subjects?: number };
  /** Absent from a server that is no cluster's. The leader's replicas, and how long ago each was heard, in nanoseconds. */
  readonly cluster?: { readonly replicas?: readonly { readonly active: number; readonly offline?: boolean }[] };
}

/** Servers of a group are heard every second, and elect another leader when they have not heard of one for 4 s. */
const IN_TOUCH_NS = 2_500_000_000;

/**
 * Whether the leader that answered speaks for the stream: most of its group were heard just now. One that is cut off takes
 * itself for the leader for some seconds more, does not know what another one has committed meanwhile, and answers.
 */
export function isInTouch({ cluster }: StreamInfo): boolean {
  const others = cluster?.replicas ?? [];
  const heard = others.filter(({ active, offline }) => offline !== true && active < IN_TOUCH_NS);
  return (heard.length + 1) * 2 > others.length + 1;
}

/** Throws `log_unavailable` where the stream's leader does not speak for it; ApiError or RequestError where none answers. */
export async function assertInTouch(api: JetStreamApi): Promise<void> {
  const info = (await api.call(`STREAM.INFO.${STREAM}`)) as StreamInfo;
  if (!isInTouch(info)) throw outOfTouch();
}

export function outOfTouch(): RevcastError {
  return new RevcastError('log_unavailable', 'the leader of the stream has not heard from most of its replicas lately');
}

/** Waiting does not help: the operator has to change the stream, the settings or the server. */
export class StreamRefused extends RevcastError {
  constructor(message: string) {
    super('log_unavailable', message);
  }
}

/** There is none, and this user may not make it: someone else has to. */
export class StreamMissing extends StreamRefused {
  constructor(name: string) {
    super(`there is no stream ${name}, and this NATS user may not make it: run "revcast setup" as one who may`);
  }
}

/** On older servers a stream with replicas loses and rewrites acknowledged entries. */
const OLDEST_WITH_REPLICAS = [2, 10, 27] as const;
/** Older servers do not republish. */
const OLDEST = [2, 9, 0] as const;

/** The settings that are the streams'. */
type StreamSettings = Pick<
  Values<typeof logSettings>,
  'logReplicas' | 'logMaxBytes' | 'logMaxSnapshotBytes' | 'logMaxEntriesPerRoom'
>;

/** A stream's settings as revcast sets them. Nested fields are written with a dot. */
interface Wanted {
  readonly name: string;
  readonly fields: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** The stream of entries. */
export function wantedStream(settings: StreamSettings): Wanted {
  const fields = {
    subjects: [STORED_SUBJECTS],
    storage: 'file',
    retention: 'limits',
    num_replicas: settings.logReplicas,
    allow_direct: true,
    'republish.src': STORED_SUBJECTS,
    'republish.dest': LIVE_SUBJECTS,
    max_msgs_per_subject: settings.logMaxEntriesPerRoom,
    max_bytes: settings.logMaxBytes,
    max_msgs: -1,
    max_age: 0,
    discard: 'new',
  };
  return { name: STREAM, fields };
}

/** The stream of snapshots: the newest of each room. (`discard: new` is about max_bytes; a room's older one gives way.) */
export function wantedSnapshotStream(settings: StreamSettings): Wanted {
  const fields = {
    subjects: [SNAPSHOT_SUBJECTS],
    storage: 'file',
    retention: 'limits',
    num_replicas: settings.logReplicas,
    allow_direct: true,
    max_msgs_per_subject: 1,
    max_bytes: settings.logMaxSnapshotBytes,
    max_msgs: -1,
    max_age: 0,
    discard: 'new',
  };
  return { name: SNAPSHOT_STREAM, fields };
}

/** Throws StreamRefused when a server of this version must not hold such a stream. */
export function checkVersion(version: string, replicas: number): void {
  const oldest = replicas > 1 ? OLDEST_WITH_REPLICAS : OLDEST;
  if (isAtLeast(version, oldest)) return;
  const needed = oldest.join('.');
  throw new StreamRefused(`nats-server ${version} is too old for replicas ${replicas}: ${needed} or newer is needed`);
}

/**
 * Makes sure that the stream is there, as wanted; `create` false: without trying to make it, which NATS has not permitted.
 * Throws StreamMissing, StreamRefused, ApiError or RequestError.
 */
export async function ensureStream(api: JetStreamApi, wanted: Wanted, create = true): Promise<StreamInfo> {
  const found = await streamInfo(api, wanted);
  if (found === null && !create) throw new StreamMissing(wanted.name);
  const info = found ?? (await createStream(api, wanted));
  const differences = differencesOf(info.config, wanted);
  if (differences.length > 0) {
    throw new StreamRefused(`stream ${wanted.name} exists with other settings: ${differences.join('; ')}`);
  }
  return info;
}

/** null when there is no such stream. */
async function streamInfo(api: JetStreamApi, { name }: Wanted): Promise<StreamInfo | null> {
  try {
    return (await api.call(`STREAM.INFO.${name}`)) as StreamInfo;
  } catch (error) {
    if (error instanceof ApiError && error.number === API_ERROR.streamNotFound) return null;
    throw error;
  }
}

/** How far the stream of entries reaches, from its leader. Throws ApiError or RequestError. */
export async function readExtent(api: JetStreamApi): Promise<LogExtent> {
  const { state, created } = (await api.call(`STREAM.INFO.${STREAM}`)) as StreamInfo;
  const { last_seq: lastSeq, messages, num_subjects: rooms = 0 } = state;
  return { lastSeq, rooms, removed: lastSeq - messages, made: created };
}

async function createStream(api: JetStreamApi, wanted: Wanted): Promise<StreamInfo> {
  const { name } = wanted;
  try {
    return (await api.call(`STREAM.CREATE.${name}`, { name, ...nested(wanted) })) as StreamInfo;
  } catch (error) {
    if (error instanceof RequestError && error.failure === 'not_permitted') throw new StreamMissing(name);
    throw error;
  }
}

/** Each field in which the stream is not as wanted, with both values. */
function differencesOf(config: Readonly<Record<string, unknown>>, wanted: Wanted): string[] {
  const differences: string[] = [];
  for (const [field, ours] of Object.entries(wanted.fields)) {
    const theirs = valueAt(config, field);
    if (JSON.stringify(theirs) === JSON.stringify(ours)) continue;
    differences.push(`${field} is ${JSON.stringify(theirs) ?? 'not set'}, wanted ${JSON.stringify(ours)}`);
  }
  return differences;
}

function valueAt(config: unknown, field: string): unknown {
  let value = config;
  for (const part of field.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

function nested(wanted: Wanted): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(wanted.fields)) {
    const [outer = field, inner] = field.split('.');
    if (inner === undefined) config[outer] = value;
    else config[outer] = { ...(config[outer] as object | undefined), [inner]: value };
  }
  return config;
}

function isAtLeast(version: string, oldest: readonly number[]): boolean {
  const numbers = /^(\d+)\.(\d+)\.(\d+)/u.exec(version)?.slice(1).map(Number) ?? [];
  for (const [index, least] of oldest.entries()) {
    const number = numbers[index] ?? 0;
    if (number !== least) return number > least;
  }
  return true;
}
