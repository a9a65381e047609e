/**
 * Who this process is to NATS, and whom it believes to be NATS. Files are read anew at each connect, so that a password
 * is changed by changing the file (as Kubernetes does with a mounted Secret) and then the server's: the connection that
 * the server ends comes back with the new one. A file that cannot be read then is logged, and what it said last is used.
 * Nothing of a secret is ever logged.
 */
import { readFileSync } from 'node:fs';
import { credsAuthenticator, tokenAuthenticator, usernamePasswordAuthenticator } from 'nats';
import type { Authenticator, ConnectionOptions } from 'nats';
import { asError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { SettingsError, type Values } from '../../shared/settings.js';
import type { natsSettings } from '../settings.js';

type NatsSettings = Values<typeof natsSettings>;

/** Throws SettingsError with everything that is wrong. */
export function credentials(settings: NatsSettings, logger: Logger): Pick<ConnectionOptions, 'authenticator' | 'tls'> {
  const problems = contradictions(settings);
  if (problems.length > 0) throw new SettingsError(problems);
  const authenticator = authenticatorOf(settings, logger);
  const tls = encryption(settings);
  return { ...(authenticator === undefined ? {} : { authenticator }), ...(tls === undefined ? {} : { tls }) };
}

function contradictions({ natsUser, natsPassword, natsPasswordFile, natsToken, natsCredentials }: NatsSettings) {
  const problems: string[] = [];
  if (natsPassword !== undefined && natsPasswordFile !== undefined)
    problems.push('NATS_PASSWORD and NATS_PASSWORD_FILE: only one of them');
  if (natsUser === undefined && (natsPassword ?? natsPasswordFile) !== undefined)
    problems.push('NATS_USER is needed with a password');
  const kinds = [natsUser, natsToken, natsCredentials].filter((given) => given !== undefined).length;
  if (kinds > 1) problems.push('NATS_USER, NATS_TOKEN and NATS_CREDENTIALS: only one of them');
  return problems;
}

/** undefined: the address may name a user, or the server wants none. */
function authenticatorOf(settings: NatsSettings, logger: Logger): Authenticator | undefined {
  const { natsUser, natsPassword, natsPasswordFile, natsToken, natsCredentials } = settings;
  if (natsCredentials !== undefined) {
    return credsAuthenticator(rereading('NATS_CREDENTIALS', natsCredentials, logger));
  }
  if (natsToken !== undefined) return tokenAuthenticator(natsToken);
  if (natsUser === undefined) return undefined;
  if (natsPasswordFile === undefined) return usernamePasswordAuthenticator(natsUser, natsPassword ?? '');
  const read = rereading('NATS_PASSWORD_FILE', natsPasswordFile, logger);
  // Editors and shells end files with a line break, which is no part of the password.
  return usernamePasswordAuthenticator(natsUser, () => Buffer.from(read()).toString().trimEnd());
}

function encryption({ nats, natsTlsCa }: NatsSettings): ConnectionOptions['tls'] {
  if (natsTlsCa !== undefined) return { ca: readFirst('NATS_TLS_CA', natsTlsCa).toString() };
  return nats.some((address) => address.startsWith('tls:')) ? {} : undefined;
}

/** Reads the file at once, and again at each call. Throws SettingsError where it cannot be read the first time. */
function rereading(setting: string, path: string, logger: Logger): () => Uint8Array {
  let last: Uint8Array = readFirst(setting, path);
  return () => {
    try {
      last = readFileSync(path);
    } catch (error) {
      logger.error({ code: 'nats_credentials', setting, err: asError(error) }, 'not readable now; using what it had');
    }
    return last;
  };
}

function readFirst(setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new SettingsError([`${setting}: ${asError(error).message}`]);
  }
}
