/** The connection to NATS of a command that does one thing and ends: there in time, or the command fails. */
import type { NatsLink } from '../log/jetstream/nats-link.js';
import { CommandFailure, type CommandContext } from './command.js';
import { onAbort } from './stopping.js';

/** Starts the link. Throws CommandFailure when NATS is not there within `withinMs`, or a signal comes first. */
export async function connectWithin(
  withinMs: number,
  link: NatsLink,
  { clock, stopping }: CommandContext,
  servers: readonly string[],
): Promise<void> {
  const ends: (() => void)[] = [];
  const problem = await new Promise<string | undefined>((resolve) => {
    ends.push(
      clock.after(withinMs, () => {
        const hosts = servers.map((server) => new URL(server).host).join(', ');
        const why = link.failure === undefined ? '' : `: ${link.failure}`;
        resolve(`NATS cannot be reached: no connection to ${hosts} within ${withinMs} ms${why}`);
      }),
      onAbort(stopping, () => {
        resolve('stopped');
      }),
      link.onUp(() => {
        resolve(undefined);
      }),
    );
    link.start();
  });
  for (const end of ends) end();
  if (problem !== undefined) throw new CommandFailure(problem);
}
