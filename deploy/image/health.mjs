/**
 * The image's health check: whether the service that is process 1 answers /healthz, that is, serves. (Readiness, whether
 * the log answers too, is /readyz: a service that is not ready must not be restarted for it.) Which service, and at
 * which address, is read from process 1's command line and the environment, where an empty variable counts as not set.
 * A command that does not serve is healthy.
 */
import { readFileSync } from 'node:fs';

const PORTS = { edge: 8080, producer: 8081, revision: 8082 };
/** `dev` has an edge too. */
const SERVING = { ...PORTS, dev: PORTS.edge };
const PROGRAM = '/main.js';
const ANY_ADDRESS = new Set(['0.0.0.0', '::', '[::]']);
const TIMEOUT_MS = 2_000;

const words = readFileSync('/proc/1/cmdline', 'utf8').split('\0');
const command = words[words.findIndex((word) => word.endsWith(PROGRAM)) + 1] ?? '';
if (Object.hasOwn(SERVING, command)) {
  const service = command === 'dev' ? 'edge' : command;
  const host = setting(service, 'host') ?? '127.0.0.1';
  const port = setting(service, 'port') ?? PORTS[service];
  const address = ANY_ADDRESS.has(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  const answer = await fetch(`http://${address}:${port}/healthz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`${service} answered ${answer.status}`);
}

/** A flag, else an environment variable that is not empty. */
function setting(service, name) {
  const flag = `--${service}-${name}`;
  const given = words.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1);
  const following = words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined;
  return given ?? following ?? (process.env[`${service}_${name}`.toUpperCase()] || undefined);
}
