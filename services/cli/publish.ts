/** `revcast publish`: sends revisions to a producer, each once, and prints where they stand. */
import { randomUUID } from 'node:crypto';
import { asError } from '../shared/errors.js';
import { parseRoomName } from '../shared/room-name.js';
import type { Values } from '../shared/settings.js';
import { publishSettings } from './client-settings.js';
import {
  CommandFailure,
  configure,
  EXIT,
  type Command,
  type CommandContext,
  type CommandInput,
  type ExitCode,
} from './command.js';
import { inputLines } from './input-lines.js';
import { PublishClient, type Publication } from './publish-client.js';
import { onAbort } from './stopping.js';

const STDIN = '-';
/** So much of what is no JSON is shown. */
const SHOWN_CHARS = 40;

export const publish: Command = {
  name: 'publish',
  summary: 'publish revisions to a room',
  description:
    'Publishes revisions to a room through a producer, and prints the position of each as a JSON line.\n' +
    'DATA is JSON; several are published together, all or none. Without DATA, or with -, each line of stdin is one.\n' +
    'What fails for the moment is tried again with the same key, so it is published once.',
  operands: '<room> [data...]',
  settings: [{ title: 'Flags', settings: publishSettings }],
  examples: [
    `revcast publish doc-1 '{"text":"hello"}'`,
    'revcast publish doc-1 --text "hello, world" --author ann',
    'revcast publish doc-1 --key import-7 < revisions.ndjson',
  ],
  run,
};

type PublishValues = Values<typeof publishSettings>;

async function run(input: CommandInput, context: CommandContext): Promise<ExitCode> {
  const settings = configure(publishSettings, input, context, {
    otherProblems: roomProblems(input),
    combinations: (values) => dataProblems(values, input),
  });
  const [room = '', ...data] = input.operands;
  const client = new PublishClient({
    ...settings,
    clock: context.clock,
    stopping: context.stopping,
    onRetry: sayOnce(context, settings.retryMs),
  });
  const send = async (publication: Omit<Publication, 'room' | 'author'>) => {
    const position = await client.publish({ ...publication, room: parseRoomName(room), author: settings.author });
    context.stdout.write(`${position}\n`);
  };
  if (fromStdin(data)) await publishLines(settings, context, send);
  else {
    const texts = data.map((one) => (settings.text ? JSON.stringify(one) : one));
    await send({ data: texts, key: settings.key ?? randomUUID(), expectedRev: settings.expectedRev });
  }
  return EXIT.ok;
}

/** One line after the other, so that they are in order; each with a key of its own. */
async function publishLines(
  settings: PublishValues,
  { stdin, stderr, stopping }: CommandContext,
  send: (publication: Omit<Publication, 'room' | 'author'>) => Promise<void>,
): Promise<void> {
  if ((stdin as { isTTY?: boolean }).isTTY === true) {
    stderr.write('revcast: each line that you type is published; Ctrl-D ends\n');
  }
  const takeBack = onAbort(stopping, () => {
    stdin.destroy(new CommandFailure('stopped'));
  });
  let published = 0;
  try {
    for await (const { number, text } of inputLines(stdin)) {
      const problem = settings.text ? undefined : jsonProblem(`line ${number}`, text);
      if (problem !== undefined) throw new CommandFailure(problem);
      await send({
        data: [settings.text ? JSON.stringify(text) : text],
        key: settings.key === undefined ? randomUUID() : `${settings.key}-${number}`,
        expectedRev: settings.expectedRev === undefined ? undefined : settings.expectedRev + published,
      });
      published += 1;
    }
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    throw new CommandFailure(`${error.message} (${published} lines were published before)`, { cause: error });
  } finally {
    takeBack();
  }
}

function fromStdin(data: readonly string[]): boolean {
  return data.length === 0 || (data.length === 1 && data[0] === STDIN);
}

function roomProblems({ operands: [room = ''] }: CommandInput): string[] {
  try {
    const name = parseRoomName(room);
    // Every HTTP client takes these for steps in the path.
    return name === '.' || name === '..' ? [`ROOM ${JSON.stringify(room)}: cannot be part of an HTTP address`] : [];
  } catch (error) {
    return [`ROOM ${JSON.stringify(room)}: ${asError(error).message}`];
  }
}

function dataProblems({ text }: PublishValues, { operands: [, ...data] }: CommandInput): string[] {
  if (text || fromStdin(data)) return [];
  return data.flatMap((one) => jsonProblem('DATA', one) ?? []);
}

function jsonProblem(what: string, text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const shown = text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
    return `${what} is not JSON: ${shown}: ${asError(error).message}; publish it as a text with --text`;
  }
}

/** The first failure of many is told, not each. */
function sayOnce({ stderr }: CommandContext, retryMs: number): (reason: string) => void {
  let last: string | undefined;
  return (reason) => {
    if (reason !== last) stderr.write(`revcast: ${reason}; trying again for up to ${retryMs} ms\n`);
    last = reason;
  };
}
