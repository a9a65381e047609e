/** `revcast tail`: prints the revisions of rooms as they come, each once and in order, whatever happens to the connection. */
import { asError } from '../shared/errors.js';
import { parseRoomName } from '../shared/room-name.js';
import type { Values } from '../shared/settings.js';
import { tailSettings } from './client-settings.js';
import { configure, EXIT, type Command, type CommandContext, type CommandInput, type ExitCode } from './command.js';
import { onAbort } from './stopping.js';
import { TailClient, type TailListener } from './tail-client.js';
import { formatRevision, formatSnapshot, type TailFormat } from './tail-format.js';
import { formatPosition, TailPosition } from './tail-position.js';

export const tail: Command = {
  name: 'tail',
  summary: 'print the revisions of rooms as they come',
  description:
    'Prints the revisions of rooms as they come: each once and in order, also when the connection breaks meanwhile.\n' +
    'What is not a revision (waiting for the edge, a history that cannot be continued) is told on stderr.',
  operands: '<room...>',
  settings: [{ title: 'Flags', settings: tailSettings }],
  examples: [
    'revcast tail eth',
    'revcast tail doc-1 doc-2 --since 0 --json',
    'revcast tail doc-1 --since 0 --count 10 --data',
    'revcast tail doc-1 --since snapshot',
  ],
  run,
};

async function run(input: CommandInput, context: CommandContext): Promise<ExitCode> {
  const settings = configure(tailSettings, input, context, {
    otherProblems: roomProblems(input),
    combinations: (values) => combinations(values, input),
  });
  const rooms = new Map(input.operands.map((name) => [parseRoomName(name), new TailPosition(settings.since)]));
  return new Promise((resolve) => {
    const finish = (code: ExitCode) => {
      client.stop();
      if (format === 'readable' && code === EXIT.ok) tellPositions(rooms, context);
      resolve(code);
    };
    const format = formatOf(settings);
    const listener = new TailPrinter(settings, format, context, finish);
    const url = edgeAddress(settings.url);
    const client = new TailClient({ url, rooms, silenceMs: settings.silenceMs, clock: context.clock, listener });
    onAbort(context.stopping, () => {
      finish(EXIT.ok);
    });
    client.start();
  });
}

class TailPrinter implements TailListener {
  private left: number;
  private waiting = false;
  private readonly announced = new Set<string>();

  constructor(
    private readonly settings: Values<typeof tailSettings>,
    private readonly format: TailFormat,
    private readonly context: CommandContext,
    private readonly finish: (code: ExitCode) => void,
  ) {
    this.left = settings.count ?? Number.POSITIVE_INFINITY;
  }

  onRevision: TailListener['onRevision'] = (room, revision, text) => {
    if (this.left === 0) return;
    this.context.stdout.write(`${formatRevision(this.format, { ...revision, room }, text)}\n`);
    this.left -= 1;
    if (this.left === 0) this.finish(EXIT.ok);
  };

  /** Not counted: it is no revision. */
  onSnapshot: TailListener['onSnapshot'] = (room, snapshot, text) => {
    if (this.left > 0) this.context.stdout.write(`${formatSnapshot(this.format, room, snapshot, text)}\n`);
  };

  onDiscontinued: TailListener['onDiscontinued'] = (room, reason) => {
    if (this.settings.strict) {
      this.tell(`${room}: ${reason}`);
      this.finish(EXIT.discontinued);
    } else this.tell(`${room}: ${reason}; starting again with what is kept`);
  };

  onSubscribed: TailListener['onSubscribed'] = (room, { rev }) => {
    if (this.waiting) this.tell('going on');
    this.waiting = false;
    if (this.format !== 'readable' || this.announced.has(room)) return;
    this.announced.add(room);
    this.tell(`following ${room} from revision ${rev + 1} on`);
  };

  /** Once for each wait, however many attempts it takes. */
  onWaiting: TailListener['onWaiting'] = (reason) => {
    if (!this.waiting) this.tell(`${reason}; waiting for it`);
    this.waiting = true;
  };

  onFailed: TailListener['onFailed'] = (reason) => {
    this.tell(reason);
    this.finish(EXIT.failed);
  };

  private tell(text: string): void {
    this.context.stderr.write(`revcast: ${text}\n`);
  }
}

/** How to go on later, for people. */
function tellPositions(rooms: ReadonlyMap<string, TailPosition>, { stderr }: CommandContext): void {
  for (const [room, { known }] of rooms) {
    if (known !== undefined && known.rev > 0) stderr.write(`revcast: ${room} stands at ${formatPosition(known)}\n`);
  }
}

function formatOf({ json, data }: Values<typeof tailSettings>): TailFormat {
  if (data) return 'data';
  return json ? 'json' : 'readable';
}

function edgeAddress(given: string): string {
  const url = new URL(given);
  url.protocol = url.protocol.replace(/^http/u, 'ws');
  if (url.pathname === '/') url.pathname = '/v1/ws';
  url.hash = '';
  return url.href;
}

function roomProblems({ operands }: CommandInput): string[] {
  const problems: string[] = [];
  const names = new Set<string>();
  for (const operand of operands) {
    try {
      const name = parseRoomName(operand);
      if (names.has(name)) problems.push(`room ${JSON.stringify(name)} is given twice`);
      names.add(name);
    } catch (error) {
      problems.push(`ROOM ${JSON.stringify(operand)}: ${asError(error).message}`);
    }
  }
  return problems;
}

function combinations({ since, json, data }: Values<typeof tailSettings>, { operands }: CommandInput): string[] {
  const problems: string[] = [];
  if (typeof since === 'object' && operands.length > 1) {
    problems.push('--since with a position is for one room: tail the rooms one by one, or with --since 0');
  }
  if (json && data) problems.push('--json and --data exclude each other');
  return problems;
}
