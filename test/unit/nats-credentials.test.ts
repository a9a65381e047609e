/** Credentials from settings and files, and how often refusals are told. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { credentials } from '../../services/log/jetstream/credentials.js';
import { Refusals } from '../../services/log/jetstream/refusals.js';
import { natsSettings } from '../../services/log/settings.js';
import { readSettings, SettingsError, type Values } from '../../services/shared/settings.js';
import { LogLines } from '../support/log-lines.js';
import { ManualClock } from '../support/manual-clock.js';

let directory: string;
let output: LogLines;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'revcast-credentials-'));
  output = new LogLines();
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

function given(env: Record<string, string>): ReturnType<typeof credentials> {
  const settings: Values<typeof natsSettings> = readSettings(natsSettings, {}, { NATS_URL: 'nats://n:4222', ...env });
  return credentials(settings, output.logger);
}

function asked({ authenticator }: ReturnType<typeof credentials>): unknown {
  if (typeof authenticator !== 'function') throw new Error('one authenticator is expected');
  return authenticator();
}

/** What is wrong with these settings. */
function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    given(env);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}

function denied(subject: string): { operation: string; subject: string } {
  return { operation: 'publish', subject };
}

describe('credentials', () => {
  test('[A6] a password comes from the variable, or from the file as it is at each connect, less the line break', () => {
    expect(asked(given({ NATS_USER: 'edge', NATS_PASSWORD: ' p ' }))).toEqual({ user: 'edge', pass: ' p ' });
    const path = file('password', 'first\n');
    const read = given({ NATS_USER: 'edge', NATS_PASSWORD_FILE: path });
    expect(asked(read)).toEqual({ user: 'edge', pass: 'first' });
    writeFileSync(path, 'second');
    expect(asked(read)).toEqual({ user: 'edge', pass: 'second' });
    rmSync(path);
    expect(asked(read)).toEqual({ user: 'edge', pass: 'second' });
    expect(output.about('nats_credentials')).toMatchObject([{ setting: 'NATS_PASSWORD_FILE' }]);
    expect(JSON.stringify(output.lines)).not.toContain('second');
  });

  test('[A6] what contradicts itself, or cannot be read, is told by name, all at once and without a secret', () => {
    expect(
      problemsOf({ NATS_PASSWORD: 'hidden', NATS_PASSWORD_FILE: 'x', NATS_TOKEN: 't', NATS_CREDENTIALS: 'c' }),
    ).toEqual([
      'NATS_PASSWORD and NATS_PASSWORD_FILE: only one of them',
      'NATS_USER is needed with a password',
      'NATS_USER, NATS_TOKEN and NATS_CREDENTIALS: only one of them',
    ]);
    expect(problemsOf({ NATS_USER: 'u', NATS_PASSWORD_FILE: join(directory, 'none') })[0]).toMatch(
      /^NATS_PASSWORD_FILE: ENOENT/u,
    );
    expect(problemsOf({ NATS_TLS_CA: join(directory, 'none') })[0]).toMatch(/^NATS_TLS_CA: ENOENT/u);
    expect(problemsOf({ NATS_TOKEN: 't' })).toEqual([]);
  });

  test('[A7] encryption is asked for by tls:// and by authorities, and else left to the server', () => {
    expect(given({}).tls).toBeUndefined();
    expect(given({ NATS_URL: 'tls://n:4222' }).tls).toEqual({});
    expect(given({ NATS_TLS_CA: file('ca', 'PEM') }).tls).toEqual({ ca: 'PEM' });
  });
});

describe('refusals', () => {
  test('[A4] each subject is told at once, then once a minute with how often it came', async () => {
    const clock = new ManualClock();
    const refusals = new Refusals(output.logger, clock);
    for (let i = 0; i < 3; i += 1) refusals.report('PERMISSIONS_VIOLATION', denied('rpc.revision.heads'));
    refusals.report('PERMISSIONS_VIOLATION', denied('rpc.producer.append'));
    await clock.advance(60_000);
    refusals.report('PERMISSIONS_VIOLATION', denied('rpc.revision.heads'));

    const told = output.lines.map((line) => line as unknown as Record<string, unknown>);
    expect(told.map(({ code, subject, repeated, level }) => [code, subject, repeated, level])).toEqual([
      ['nats_not_permitted', 'rpc.revision.heads', 0, 50],
      ['nats_not_permitted', 'rpc.producer.append', 0, 50],
      ['nats_not_permitted', 'rpc.revision.heads', 2, 50],
    ]);
  });

  test('[A4] subjects of rooms and inboxes are told as one, with an example, and beyond 256 the others are one', () => {
    const refusals = new Refusals(output.logger, new ManualClock());
    for (let i = 0; i < 10; i += 1) refusals.report('PERMISSIONS_VIOLATION', denied(`_INBOX_edge.n${i}.x`));
    for (let i = 0; i < 10; i += 1) refusals.report('PERMISSIONS_VIOLATION', denied(`live.1.room${i}`));
    for (let i = 0; i < 1_000; i += 1) refusals.report('PERMISSIONS_VIOLATION', denied(`other.${i}`));

    expect(output.lines[0]).toMatchObject({ subject: '_INBOX_edge.>', example: '_INBOX_edge.n0.x' });
    expect(output.lines[1]).toMatchObject({ subject: 'live.>', example: 'live.1.room0' });
    expect(output.lines).toHaveLength(257);
  });

  test('[A4] a user that is not taken is told apart from a NATS that cannot be reached', () => {
    const refusals = new Refusals(output.logger, new ManualClock());
    expect(refusals.isOfUser(Object.assign(new Error('no'), { code: 'AUTHORIZATION_VIOLATION' }))).toBe(true);
    expect(refusals.isOfUser(Object.assign(new Error('no'), { code: 'CONNECTION_REFUSED' }))).toBe(false);
    expect(refusals.isOfUser(new Error('no'))).toBe(false);
    expect(output.lines).toMatchObject([{ code: 'nats_user_refused', reason: 'AUTHORIZATION_VIOLATION' }]);
  });
});
