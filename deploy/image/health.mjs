/**
 * The image's health check: whether the service that is process 1 answers /healthz, that is, serves. (Readiness, whether
 * the log answers too, is /readyz: a service that is not ready must not be restarted for it.) Which service, and on
 * which port, is read from process 1's command line and the environment. A command that does not serve is healthy.
 */
import { readFileSync } from 'node:fs';

const PORTS = { edge: 8080, producer: 8081, revision: 8082 };
/** `dev` has an edge too. */
const SERVING = { ...PORTS, dev: PORTS.edge };
const TIMEOUT_MS = 2_000;

const words = readFileSync('/proc/1/cmdline', 'utf8').split('\0');
const command = words.find((word) => Object.hasOwn(SERVING, word));
if (command !== undefined) {
  const service = command === 'dev' ? 'edge' : command;
  const flag = `--${service}-port`;
  const given = words.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1);
  const following = words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined;
  const port = given ?? following ?? process.env[`${service.toUpperCase()}_PORT`] ?? PORTS[service];
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`${service} answered ${answer.status}`);
}
