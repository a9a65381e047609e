/** `publish` and `tail` of the built program through services of their own that are killed on the way. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KeptProcess } from '../support/built-program.js';
import { Cluster, type ServiceProcess } from '../support/cluster.js';

let cluster: Cluster;
let producer: ServiceProcess;
let edge: ServiceProcess;
let clients: KeptProcess[];

beforeEach(async () => {
  clients = [];
  cluster = await Cluster.create();
  producer = await cluster.add('producer', 'producer');
  await cluster.add('revision', 'revision');
  edge = await cluster.add('edge', 'edge');
  await cluster.ready();
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.stop()));
  await cluster.dispose();
});

function client(...words: string[]): KeptProcess {
  const process = KeptProcess.revcast(words);
  clients.push(process);
  return process;
}

function publish(...words: string[]): KeptProcess {
  return client('publish', 'doc', '--url', producer.url, ...words);
}

describe('publish and tail', () => {
  test('[C8][C9] each revision is printed once and in order, though edge and NATS are killed, and though the room was empty', async () => {
    const tail = client('tail', 'doc', '--url', edge.url);
    await tail.says(/following doc from revision 1 on/u, 'stderr');
    expect(await publish('1', '2').ended).toMatchObject({ code: 0 });
    await tail.says(/ 2$/mu);

    await edge.kill();
    expect(await publish('3').ended).toMatchObject({ code: 0 });
    edge.start();
    await tail.says(/ 3$/mu);
    await tail.says(/waiting for it\nrevcast: going on/u, 'stderr');

    await cluster.nats.kill();
    const waiting = publish('--timeout-ms', '2000');
    waiting.stdin.end('4\n5\n6\n');
    await waiting.says(/trying again/u, 'stderr');
    await cluster.nats.start();
    expect(await waiting.ended).toMatchObject({ code: 0 });
    expect(waiting.stdout.trim().split('\n')).toHaveLength(3);

    await tail.says(/ 6$/mu);
    tail.kill('SIGTERM');
    expect(await tail.ended).toEqual({ code: 0, signal: null });
    const printed = tail.stdout
      .trim()
      .split('\n')
      .map((line) => [line.split(' ')[1], line.split(' ').at(-1)]);
    expect(printed).toEqual(['1', '2', '3', '4', '5', '6'].map((one) => [one, one]));
  });
});
