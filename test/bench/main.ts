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
  fanout: {
    help: 'a broadcast over real sockets: this edge, uWebSockets.js publish, ws, Socket.IO; --n: sockets of each',
    run: async (options) => (await import('./fanout.js')).runFanout(options),
  },
  frames: {
    help: 'one broadcast, serialized and deflated per socket against once; --n: members',
    run: async (options) => {
      (await import('./frames.js')).runFrames(options);
    },
  },
  ring: {
    help: "an advance in the room's ring, counted against scanned; --n: most readers",
    run: async (options) => {
      (await import('./ring.js')).runRing(options);
    },
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

/** The benchmark and its options, or what is wrong with the call. */
function readCall(args: readonly string[]): { bench: Bench; options: BenchOptions } | string {
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
    return error instanceof Error ? error.message : String(error);
  }
  const { values, positionals } = parsed;
  const [name, ...rest] = positionals;
  if (values.help || name === undefined) return 'name a benchmark';
  if (rest.length > 0) return `one benchmark at a time, not also ${rest.join(', ')}`;
  const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
  if (bench === undefined) return `there is no benchmark ${JSON.stringify(name)}`;
  const { n, json, quick } = values;
  if (n === undefined) return { bench, options: { json, quick } };
  if (!/^[1-9]\d{0,8}$/u.test(n)) return '--n must be a whole number above 0';
  return { bench, options: { n: Number(n), json, quick } };
}

const call = readCall(process.argv.slice(2));
if (typeof call === 'string') {
  process.stderr.write(`${call}\n\n${USAGE}\n`);
  process.exitCode = 2;
} else {
  try {
    await call.bench.run(call.options);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
  }
}
