/**
 * The users and permissions that revcast is deployed with (deploy/nats/users.conf): a real nats-server that has them, and what a
 * service is given to be one of them. The passwords are this run's own; servers get them from their environment, as users.conf
 * names them, services from theirs.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { connect, Events, type NatsConnection } from 'nats';
import type { natsSettings } from '../../services/log/settings.js';
import type { Values } from '../../services/shared/settings.js';
import { NatsServer } from './nats-server.js';

const USERS_FILE = fileURLToPath(new URL('../../deploy/nats/users.conf', import.meta.url));

export const NATS_USERS = ['admin', 'producer', 'revision', 'edge', 'gc'] as const;
export type NatsUser = (typeof NATS_USERS)[number];

/** The server reads a value from the environment as it reads its configuration: what begins with a digit may be a number. */
const passwords = new Map<NatsUser, string>(NATS_USERS.map((user) => [user, `p${randomBytes(16).toString('hex')}`]));

export function passwordOf(user: NatsUser): string {
  return passwords.get(user) ?? '';
}

/** What users.conf takes from the environment. */
export function passwordVariables(): Record<string, string> {
  return Object.fromEntries(NATS_USERS.map((user) => [`NATS_${user.toUpperCase()}_PASSWORD`, passwordOf(user)]));
}

/** Started; `change` edits the text of users.conf. Without dispose its files stay. */
export function startNatsWithUsers(change: (users: string) => string = (users) => users): Promise<NatsServer> {
  return NatsServer.start({ config: change(readFileSync(USERS_FILE, 'utf8')), env: passwordVariables() });
}

/** The environment of a process that is this user. */
export function asUser(user: NatsUser): Record<string, string> {
  return { NATS_USER: user, NATS_PASSWORD: passwordOf(user), NATS_INBOX: `_INBOX_${user}` };
}

/** The same as settings. */
export function userSettings(user: NatsUser): Partial<Values<typeof natsSettings>> {
  return { natsUser: user, natsPassword: passwordOf(user), natsInbox: `_INBOX_${user}` };
}

/** A bare connection of this user, that keeps what the server refuses. */
export class BareUser {
  private readonly refused: string[] = [];

  private constructor(readonly connection: NatsConnection) {
    void this.listen();
  }

  static async connect(
    server: Pick<NatsServer, 'url'>,
    user: NatsUser,
    password = passwordOf(user),
  ): Promise<BareUser> {
    const connection = await connect({
      servers: server.url,
      user,
      pass: password,
      inboxPrefix: `_INBOX_${user}`,
      reconnect: false,
      noAsyncTraces: true,
    });
    return new BareUser(connection);
  }

  /** Those of the subjects that this user may publish to. */
  mayPublish(subjects: readonly string[]): Promise<string[]> {
    return this.allowed(subjects, (subject) => {
      this.connection.publish(subject);
    });
  }

  /** Those that it may subscribe to; "SUBJECT QUEUE" is in a queue group. */
  maySubscribe(subjects: readonly string[]): Promise<string[]> {
    return this.allowed(subjects, (subject) => {
      const [name = '', queue] = subject.split(' ');
      this.connection.subscribe(name, { ...(queue === undefined ? {} : { queue }), callback: () => undefined });
    });
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  /** One by one, each with a round trip: whatever the server has to say of it comes before the answer. */
  private async allowed(subjects: readonly string[], attempt: (subject: string) => void): Promise<string[]> {
    const allowed: string[] = [];
    for (const subject of subjects) {
      const before = this.refused.length;
      attempt(subject);
      await this.connection.flush();
      await new Promise((resolve) => setImmediate(resolve));
      if (this.refused.length === before) allowed.push(subject);
    }
    return allowed;
  }

  private async listen(): Promise<void> {
    for await (const event of this.connection.status()) {
      if (event.type === Events.Error) this.refused.push(String(event.permissionContext?.subject));
    }
  }
}
