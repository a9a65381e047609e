/**
 * The benchmarks: npm run --silent bench -- NAME [--n N] [--json] [--quick]. Each loads only what it needs, and writes a
 * table for people or, with --json, one JSON object a line. A benchmark that fails exits 1, a wrong call 2.
 */
import { parseArgs } from 'node:util';
import type { BenchOptions } from './bench-options.js';

interface Bench {
  /** What it measures, and what --n is. */
  readonly help: string;
  readonly run: (options: BenchOptions) => Promise<void>;
}

const BENCHES: Readonly<Record<string, Bench>> = {
  append: {
    help: 'revisions per second into one room, on a real nats-server; --n: appends of a turn',
    run: async (options) => (await import('./append.js')).runAppend(options),
  },
  cold: {
    help: 'ranges in the middle of rooms that nobody has in memory, with and without a hint (needs nats-server); --n: rooms',
    run: async (options) => (await import('./cold.js')).runCold(options),
  },
  deep: {
    help: 'one client far behind: revisions per second, and memory (needs nats-server); --n: revisions',
    run: async (options) => (await import('./deep.js')).runDeep(options),
  },
  fanout: {
    help: 'a broadcast over real sockets: this edge, uWebSockets.js publish, ws, Socket.IO; --n: sockets of each',
    run: async (options) => (await import('./fanout.js')).runFanout(options),
  },
  flush: {
    help: 'write calls and latency by when sockets are written to, at rising load; --n: sockets',
    run: async (options) => (await import('./flush.js')).runFlush(options),
  },
  frames: {
    help: 'one broadcast, serialized and deflated per socket against once; --n: members',
    run: async (options) => {
      (await import('./frames.js')).runFrames(options);
    },
  },
  herd: {
    help: 'clients at different positions that drop and reconnect all at once (needs nats-server); --n: clients',
    run: async (options) => (await import('./herd.js')).runHerd(options),
  },
  idle: {
    help: 'memory of an idle subscribed socket, also after a large page; --n: sockets',
    run: async (options) => (await import('./idle.js')).runIdle(options),
  },
  overload: {
    help: 'twice as many revisions as the edge can deliver; --n: sockets',
    run: async (options) => (await import('./overload.js')).runOverload(options),
  },
  ring: {
    help: "an advance in the room's ring, counted against scanned; --n: most readers",
    run: async (options) => {
      (await import('./ring.js')).runRing(options);
    },
  },
  scale: {
    help: 'NATS messages of a revision, and deliveries per second, with 1, 2 and 3 edges (needs nats-server); --n: sockets',
    run: async (options) => (await import('./scale.js')).runScale(options),
  },
  slow: {
    help: 'fast clients beside slow ones, in a network namespace (needs root); --n: fast clients',
    run: async (options) => (await import('./slow.js')).runSlow(options),
  },
};

const USAGE = [
  'usage: npm run --silent bench -- NAME [--n N] [--json] [--quick]',
  '',
  ...Object.entries(BENCHES).map(([name, { help }]) => `  ${name.padEnd(10)}${help}`),
  '',
  '  --n N     size of the benchmark',
  '  --json    one JSON object a line instead of a table',
  '  --quick   a smaller size, done within 45 s',
].join('\n');

type Call =
  | { readonly kind: 'run'; readonly bench: Bench; readonly options: BenchOptions }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly problem: string };

function wrong(problem: string): Call {
  return { kind: 'wrong', problem };
}

function readCall(args: readonly string[]): Call {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        n: { type: 'string' },
        json: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = parsed;
  const [name, ...rest] = positionals;
  if (values.help) return { kind: 'help' };
  if (name === undefined) return wrong('name a benchmark');
  if (rest.length > 0) return wrong(`one benchmark at a time, not also ${rest.join(', ')}`);
  const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
  if (bench === undefined) return wrong(`there is no benchmark ${JSON.stringify(name)}`);
  const { n, json, quick } = values;
  if (n === undefined) return { kind: 'run', bench, options: { json, quick } };
  if (!/^[1-9]\d{0,8}$/u.test(n)) return wrong('--n must be a whole number above 0');
  return { kind: 'run', bench, options: { n: Number(n), json, quick } };
}

/** Runs the benchmark; what it was stopped by goes to stderr. Answers the exit code. */
async function run(bench: Bench, options: BenchOptions): Promise<number> {
  try {
    await bench.run(options);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return 1;
  }
}

// Whoever reads the rows may stop, as `head` does.
process.stdout.on('error', () => process.exit(1));

const call = readCall(process.argv.slice(2));
switch (call.kind) {
  case 'run':
    process.exitCode = await run(call.bench, call.options);
    break;
  case 'help':
    process.stdout.write(`${USAGE}\n`);
    break;
  case 'wrong':
    process.stderr.write(`${call.problem}\n\n${USAGE}\n`);
    process.exitCode = 2;
    break;
}
