/**
 * The Docker engine that container tests use, and what they leave in it: nothing. Every container has labels that name
 * the process which owns it, every network has that process in its name; what belongs to a process that is gone, after a
 * crash, is removed by the next one that begins. Images come by name from the environment, as
 * test/setup/with-engine.sh sets it; nothing is ever pulled.
 */
import { getContainerRuntimeClient } from 'testcontainers';
import { isAlive } from '../built-program.js';

/** testcontainers' own cleaner is an image that would have to be pulled. */
process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
process.env['TESTCONTAINERS_HOST_OVERRIDE'] ??= '127.0.0.1';

const OWNER_LABEL = 'dev.revcast.test.owner';
/** Also of Compose projects, and so of their networks. */
const NAME_PREFIX = 'revcast-test-';
const PROJECT_LABEL = 'com.docker.compose.project';

type Client = Awaited<ReturnType<typeof getContainerRuntimeClient>>;
export type EngineContainer = ReturnType<Client['container']['getById']>;
export type EngineNetwork = ReturnType<Client['network']['getById']>;

let names = 0;

/** Labels of a container of this process. */
export function ownerLabels(): Record<string, string> {
  return { [OWNER_LABEL]: String(process.pid) };
}

/**
 * A name for a network, or a Compose project, of this process. It sorts after `bridge`, which all containers are in too: so that one stays what
 * published ports lead to, and disconnecting a container from the network leaves those alone.
 */
export function testName(): string {
  names += 1;
  return `${NAME_PREFIX}${process.pid}-${names}`;
}

export type ImageName = 'REVCAST_IMAGE' | 'BASE' | 'NATS_IMAGE' | 'HAPROXY_IMAGE';

export function image(name: ImageName): string {
  const given = process.env[name];
  if (given === undefined || given === '')
    throw new Error(`${name} is not set: run container tests by "make containers"`);
  return given;
}

export function engine(): Promise<Client> {
  return getContainerRuntimeClient();
}

/** Removes what processes that are gone have left. */
export async function sweep(): Promise<void> {
  const { dockerode } = (await engine()).container;
  const all = await dockerode.listContainers({ all: true });
  for (const { Id, Labels } of all) {
    const owner = Labels[OWNER_LABEL] ?? ownerByName(Labels[PROJECT_LABEL]);
    if (owner !== undefined && !isAlive(Number(owner))) {
      await dockerode.getContainer(Id).remove({ force: true, v: true });
    }
  }
  for (const { Id, Name } of await dockerode.listNetworks()) {
    const owner = ownerByName(Name);
    if (owner !== undefined && !isAlive(Number(owner))) await dockerode.getNetwork(Id).remove();
  }
  const { Volumes } = await dockerode.listVolumes();
  for (const { Name } of Volumes) {
    const owner = ownerByName(Name);
    if (owner !== undefined && !isAlive(Number(owner))) await dockerode.getVolume(Name).remove();
  }
}

/** The process that a network's or project's name names; undefined where it is none of ours. */
function ownerByName(name: string | undefined): string | undefined {
  return name?.startsWith(NAME_PREFIX) === true ? /^\d+/u.exec(name.slice(NAME_PREFIX.length))?.[0] : undefined;
}
