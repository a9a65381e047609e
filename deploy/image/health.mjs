/**
 * The image's health check: whether the service that is process 1 answers /healthz, that is, serves. (Readiness, whether
 * the log answers too, is /readyz: a service that is not ready must not be restarted for it.) Which service, and on
 * which host and port, is read from process 1's command line and the environment, as the service reads them: a flag wins
 * over its variable, and an empty variable is not set. A command that does not serve is healthy.
 */
import { readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PORTS = { edge: 8080, producer: 8081, revision: 8082 };
/** `dev` has an edge too. */
const SERVING = { edge: 'edge', producer: 'producer', revision: 'revision', dev: 'edge' };
const PROGRAM = /(?:^|\/)main\.js$/u;
/** Who listens to all addresses is asked at the loopback one. */
const LOOPBACK = { '0.0.0.0': '127.0.0.1', '::': '::1' };
const TIMEOUT_MS = 2_000;

/** Where the service of this command line listens; undefined where it is not one. */
export function healthAddress(words, env) {
  const program = words.findIndex((word) => PROGRAM.test(word));
  const [command, ...rest] = program < 0 ? [] : words.slice(program + 1);
  if (command === undefined || !Object.hasOwn(SERVING, command)) return undefined;
  const service = SERVING[command];
  const setting = (name, fallback) =>
    flag(`--${service}-${name}`, rest) || env[`${service}_${name}`.toUpperCase()] || fallback;
  const given = setting('host', '127.0.0.1').replace(/^\[(.*)\]$/u, '$1');
  const host = LOOPBACK[given] ?? given;
  return `http://${host.includes(':') ? `[${host}]` : host}:${setting('port', PORTS[service])}/healthz`;
}

/** The last one counts. */
function flag(name, words) {
  const values = words.flatMap((word, index) => {
    if (word === name) return [words[index + 1]];
    return word.startsWith(`${name}=`) ? [word.slice(name.length + 1)] : [];
  });
  return values.at(-1);
}

if (realpathSync(process.argv[1] ?? '') === fileURLToPath(import.meta.url)) {
  const address = healthAddress(readFileSync('/proc/1/cmdline', 'utf8').split('\0'), process.env);
  if (address !== undefined) {
    const answer = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`${address} answered ${answer.status}`);
  }
}
