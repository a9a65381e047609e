/** Why a service could not listen, in the words of the command line: the port, what to do, and with which flag. */
import { createServer } from 'node:net';
import { asError } from '../shared/errors.js';
import { flagName } from '../shared/settings.js';
import { CommandFailure } from './command.js';

export interface ListenAddress {
  /** As in "the producer's port". */
  readonly service: string;
  readonly host: string;
  readonly port: number;
  /** The settings' property names. */
  readonly hostSetting: string;
  readonly portSetting: string;
}

/** What `start` answers; what it throws because of the address is thrown as CommandFailure. */
export async function listening<T>(address: ListenAddress, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    const code = codeOf(error);
    const problem = describe(address, code === 'EADDRINUSE' ? await sureCode(address, code) : code);
    throw problem === undefined ? error : new CommandFailure(problem, { cause: error });
  }
}

/** What all of them answer. When some fail, one CommandFailure tells of all that are CommandFailures. */
export async function allListening<T extends readonly Promise<unknown>[] | []>(
  starts: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const outcomes = await Promise.allSettled(starts);
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [asError(outcome.reason)] : []));
  const fault = reasons.find((reason) => !(reason instanceof CommandFailure));
  if (fault !== undefined) throw fault;
  if (reasons.length > 0) throw new CommandFailure(reasons.map(({ message }) => message).join('\n'));
  return Promise.all(starts);
}

function describe(address: ListenAddress, code: string): string | undefined {
  const { service, host, port } = address;
  const portFlag = `--${flagName(address.portSetting)}`;
  const hostFlag = `--${flagName(address.hostSetting)}`;
  switch (code) {
    case 'EADDRINUSE':
      return `the ${service}'s port ${port} on ${host} is in use: stop what uses it, or choose another with ${portFlag}`;
    case 'EACCES':
      return `the ${service} may not listen on port ${port} of ${host}: choose one above 1023 with ${portFlag}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the ${service} cannot listen on ${host}: it is no address of this machine; choose one with ${hostFlag}`;
    default:
      return undefined;
  }
}

/** uWebSockets.js does not say why it cannot listen, so that its EADDRINUSE may be another: node:net is asked. */
function sureCode({ host, port }: ListenAddress, otherwise: string): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => {
      resolve(codeOf(error));
    });
    server.listen(port, host, () => {
      server.close(() => {
        resolve(otherwise);
      });
    });
  });
}

/** The code of the error, or of what caused it; empty where there is none. */
function codeOf(error: unknown): string {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (typeof code === 'string') return code;
  }
  return '';
}
