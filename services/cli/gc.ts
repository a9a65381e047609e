/** `revcast gc`: enforces the age of what the log keeps. One run; a scheduler starts it again. */
import { JetStreamApi } from '../log/jetstream/api.js';
import { NatsLink } from '../log/jetstream/nats-link.js';
import { Retention } from '../log/jetstream/retention.js';
import { natsSettings } from '../log/settings.js';
import { asError, RevcastError } from '../shared/errors.js';
import type { Values } from '../shared/settings.js';
import { silentLogger } from '../shared/logger.js';
import { CommandFailure, configure, EXIT, type Command, type CommandContext, type ExitCode } from './command.js';
import { GcRun, type GcReport } from './gc-run.js';
import { gcSettings } from './gc-settings.js';
import { connectWithin } from './nats-connect.js';

const NEEDS_NATS =
  'it removes from the log on NATS; a log in memory ends with its process, and keeps nothing beyond it';
const NEEDS_AGE = 'how old what is kept may be, for example 30d';
const CONNECT_MS = 10_000;
const PROGRESS_MS = 5_000;
const MS_PER_MINUTE = 60_000;
/** Further problems are only counted. */
const SHOWN_PROBLEMS = 10;

const settings = { ...gcSettings, ...natsSettings };

export const gc: Command = {
  name: 'gc',
  summary: 'remove old revisions from the log',
  description:
    'Removes what is older than --max-age from every room of the log on NATS. The last entry of a room always stays, so\n' +
    'that its numbering goes on, and what follows its snapshot, if it has one. Entries are removed whole: one goes when all\n' +
    'its revisions are old.\n' +
    'Clients that stand before what is kept are told history_truncated. May run at any time, also twice at once.',
  operands: '',
  settings: [
    { title: 'Flags', settings: gcSettings },
    { title: 'NATS', settings: natsSettings },
  ],
  examples: [
    'revcast gc --nats nats://127.0.0.1:4222 --max-age 30d',
    'revcast gc --nats nats://127.0.0.1:4222 --max-age 12h --keep-revisions 100 --room doc-1 --dry-run',
  ],
  async run(input, context) {
    const values = configure(settings, input, context, {
      required: { nats: NEEDS_NATS, maxAge: NEEDS_AGE },
      combinations: ageProblems,
    });
    const link = new NatsLink({ settings: values, name: 'gc', logger: silentLogger, clock: context.clock });
    const retention = new Retention(new JetStreamApi(link, values.logRequestTimeoutMs));
    try {
      await connectWithin(CONNECT_MS, link, context, values.nats);
      return await collect(values, retention, context);
    } catch (error) {
      if (error instanceof RevcastError) throw new CommandFailure(error.message, { cause: error });
      throw error;
    } finally {
      retention.close();
      await link.close();
    }
  },
};

type GcValues = Values<typeof settings>;

async function collect(values: GcValues, retention: Retention, context: CommandContext): Promise<ExitCode> {
  const { clock, stopping, stderr, stdout } = context;
  await retention.check();
  const { keepRevisions, room: rooms, dryRun, maxAge = 0 } = values;
  let problems = 0;
  let toldAt = clock.monotonic();
  const run = new GcRun(
    { rule: { keepSince: clock.now() - maxAge, keepRevisions }, rooms, dryRun },
    {
      retention,
      clock,
      stopping,
      onProblem(line) {
        problems += 1;
        if (problems <= SHOWN_PROBLEMS) stderr.write(`revcast: ${line}\n`);
      },
      onProgress(report) {
        if (clock.monotonic() - toldAt < PROGRESS_MS) return;
        toldAt = clock.monotonic();
        stderr.write(`revcast: ${summary(report, dryRun)} so far\n`);
      },
    },
  );
  const report = await run.run().catch((error: unknown) => {
    stdout.write(`${summary(run.report, dryRun)}\n`);
    throw asError(error);
  });
  stdout.write(`${summary(report, dryRun)}\n`);
  if (stopping.aborted) throw new CommandFailure('stopped before all rooms were looked at');
  if (report.failed > 0) throw new CommandFailure(`${report.failed} could not be dealt with; the next run tries again`);
  return EXIT.ok;
}

function summary({ rooms, shortened, entries, bytes }: Readonly<GcReport>, dryRun: boolean): string {
  if (dryRun) return `would remove ${entries} entries of ${shortened} rooms; looked at ${rooms} rooms`;
  return `removed ${entries} entries, about ${bytes} bytes, of ${shortened} rooms; looked at ${rooms} rooms`;
}

function ageProblems({ maxAge, keyWindowMinutes }: GcValues): string[] {
  if (maxAge === undefined || maxAge >= keyWindowMinutes * MS_PER_MINUTE) return [];
  return [`--max-age must not be below ${keyWindowMinutes} minutes, KEY_WINDOW_MINUTES: keys would be forgotten`];
}
