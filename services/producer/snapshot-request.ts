/** The body of a snapshot's PUT, `{rev, data, epoch?, replaces?}`, from bytes to what the log is given. */
import type { NewSnapshot } from '../log/log.js';
import { checkName, invalid } from './append-limits.js';
import { bodyObject, optionalNumber, optionalString, refuseUnknown } from './body-properties.js';
import { compact } from '../shared/json-text.js';

/** A room may begin with it: below what a number holds exactly there must be room for all that follows. */
const MAX_SNAPSHOT_REV = 1_000_000_000_000_000;

/** Throws `invalid_json`, `invalid_request`. */
export function parseSnapshotRequest(body: Uint8Array): NewSnapshot {
  const { text, properties } = bodyObject(body);
  refuseUnknown(properties, ['rev', 'data', 'epoch', 'replaces'], '');
  const data = properties.get('data');
  if (data === undefined) throw invalid('data', 'is missing');
  const rev = optionalNumber(text, properties.get('rev'), 'rev');
  if (rev === undefined) throw invalid('rev', 'is missing');
  const epoch = optionalString(text, properties.get('epoch'), 'epoch');
  const replaces = optionalString(text, properties.get('replaces'), 'replaces');
  return {
    rev,
    data: Buffer.from(compact(text, data)),
    ...(epoch === undefined ? {} : { epoch }),
    ...(replaces === undefined ? {} : { replaces }),
  };
}

/** Throws `invalid_request` unless the snapshot's own properties are sound. */
export function checkSnapshot({ rev, epoch, replaces }: NewSnapshot): void {
  if (!Number.isSafeInteger(rev) || rev < 0 || rev > MAX_SNAPSHOT_REV) {
    throw invalid('rev', `must be a whole number from 0 to ${MAX_SNAPSHOT_REV}`);
  }
  if (epoch !== undefined) checkName('epoch', epoch);
  if (replaces !== undefined) checkName('replaces', replaces);
  if (epoch !== undefined && replaces !== undefined) throw invalid('replaces', 'excludes epoch');
}
