/**
 * NATS as deploy/nats has it: a user for each service, with the subjects that it uses and no others. The passwords are
 * this run's own; servers get them from their environment, as users.conf names them, services from theirs.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ContainerFile } from './test-container.js';

const DEPLOYED = new URL('../../../deploy/nats/', import.meta.url);
const USERS = ['admin', 'producer', 'revision', 'edge', 'gc'] as const;

export type NatsUser = (typeof USERS)[number];

/** The server reads a value from the environment as it reads its configuration: what begins with a digit may be a number. */
const passwords = new Map<NatsUser, string>(USERS.map((user) => [user, `p${randomBytes(16).toString('hex')}`]));

export function password(user: NatsUser): string {
  return passwords.get(user) ?? '';
}

/** Included by each server's configuration, from the folder of that. */
export const deployedFiles = ['jetstream.conf', 'users.conf'] as const;

export function readDeployedFiles(folder: string): ContainerFile[] {
  return deployedFiles.map((name) => ({
    path: `${folder}/${name}`,
    content: readFileSync(new URL(name, DEPLOYED), 'utf8'),
  }));
}

/** What users.conf takes from the server's environment. */
export function serverPasswords(): Record<string, string> {
  return Object.fromEntries(USERS.map((user) => [`NATS_${user.toUpperCase()}_PASSWORD`, password(user)]));
}

/** What a service, or a command, is given. */
export function serviceCredentials(user: NatsUser): Record<string, string> {
  return { NATS_USER: user, NATS_PASSWORD: password(user), NATS_INBOX: `_INBOX_${user}` };
}
