/**
 * Holds what manifests give to revcast's containers against the program: the command is one, every variable is a setting
 * that it knows, with a value that it takes, times of a stop fit into each other, and the NATS user is one with its own
 * inbox and its own secret.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Container } from 'kubernetes-types/core/v1.js';
import type { Command } from '../../../services/cli/command.js';
import { COMMANDS } from '../../../services/cli/commands.js';
import type { Setting } from '../../../services/shared/settings.js';
import { nameOf, ofKind, workloadsOf, type Manifest, type Workload } from './manifest.js';

const USERS = readFileSync(fileURLToPath(new URL('../../../deploy/nats/users.conf', import.meta.url)), 'utf8');
const HTTP_PATHS = new Set(['/healthz', '/readyz']);
const IMAGE = /^revcast(?::|$)/u;
/** Between the end of a stop and the end of the process, and between that and the pod's. */
const SLACK_MS = 3_000;
const STOP_PARTS = ['EDGE_DRAIN_WAIT_MS', 'EDGE_DRAIN_MS', 'EDGE_CLOSE_TIMEOUT_MS'];
const LOOPBACK = /^(?:127\.|localhost$|\[?::1)/u;
const MS = 1_000;

export function settingsProblems(manifests: readonly Manifest[]): string[] {
  return workloadsOf(manifests).flatMap((workload) =>
    workload.pod.containers
      .filter(({ image }) => IMAGE.test(image ?? ''))
      .flatMap((container) => containerProblems(container, workload, manifests))
      .map((problem) => `${nameOf(workload.manifest)}: ${problem}`),
  );
}

function containerProblems(container: Container, workload: Workload, manifests: readonly Manifest[]): string[] {
  const [name = '(none)', ...more] = container.args ?? [];
  const command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) return [`there is no command ${name}`];
  if (more.length > 0) return [`settings are variables, not flags: ${more.join(' ')}`];
  const own = new Map((container.env ?? []).map(({ name: variable, value }) => [variable, value ?? '']));
  const shared = sharedVariables(container, manifests);
  const all = new Map([...shared, ...own]);
  return [
    ...[...own.keys()]
      .filter((variable) => settingOf(command, variable) === undefined)
      .map((variable) => `${name} has no setting ${variable}`),
    ...[...shared.keys()]
      .filter((variable) => !COMMANDS.some((one) => settingOf(one, variable) !== undefined))
      .map((variable) => `no command has a setting ${variable}`),
    ...[...all].flatMap(([variable, value]) => valueProblems(settingOf(command, variable), value)),
    ...stopProblems(command, all, workload),
    ...listenProblems(command, all, container),
    ...userProblems(all, workload),
    ...probeProblems(container),
  ];
}

function sharedVariables({ envFrom = [] }: Container, manifests: readonly Manifest[]): Map<string, string> {
  const names = new Set(envFrom.map(({ configMapRef }) => configMapRef?.name));
  const maps = ofKind(manifests, 'ConfigMap').filter(({ metadata }) => names.has(metadata.name));
  return new Map(maps.flatMap((map) => Object.entries((map['data'] ?? {}) as Record<string, string>)));
}

function settingOf(command: Command, variable: string): Setting<unknown> | undefined {
  return command.settings.flatMap(({ settings }) => Object.values(settings)).find(({ env }) => env === variable);
}

function valueProblems(setting: Setting<unknown> | undefined, value: string): string[] {
  const parsed = setting?.parse.safeParse(value);
  if (setting === undefined || parsed?.success === true) return [];
  return [`${setting.env} ${parsed?.error?.issues[0]?.message ?? 'is not valid'} (it is ${JSON.stringify(value)})`];
}

function stopProblems(command: Command, variables: ReadonlyMap<string, string>, { pod, manifest }: Workload): string[] {
  const valueOf = (variable: string) => Number(variables.get(variable) ?? settingOf(command, variable)?.fallback ?? 0);
  const partsMs = STOP_PARTS.map(valueOf).reduce((sum, part) => sum + part, 0) + SLACK_MS;
  const stopMs = valueOf('STOP_TIMEOUT_MS');
  const graceMs = (pod.terminationGracePeriodSeconds ?? 30) * MS;
  const { minReadySeconds = 0 } = manifest['spec'] as { minReadySeconds?: number };
  return [
    ...(command.name === 'edge' && minReadySeconds * MS < partsMs - SLACK_MS
      ? [`minReadySeconds is ${minReadySeconds}: edges would drain beside each other, which takes up to ${partsMs} ms`]
      : []),
    ...(command.name === 'edge' && stopMs < partsMs
      ? [`STOP_TIMEOUT_MS is ${stopMs}, and the drain takes up to ${partsMs} with ${SLACK_MS} to spare`]
      : []),
    ...(graceMs < stopMs + SLACK_MS
      ? [
          `terminationGracePeriodSeconds is ${graceMs / MS}, and a stop takes up to ${stopMs} ms with ${SLACK_MS} to spare`,
        ]
      : []),
  ];
}

/** What others connect to: the address of the pod, at ports that the container names. */
function listenProblems(command: Command, variables: ReadonlyMap<string, string>, { ports = [] }: Container): string[] {
  const service = command.name.toUpperCase();
  // The image listens to all addresses (deploy/Dockerfile); metrics are at the loopback one where nothing else is said.
  const places = [
    ...(settingOf(command, `${service}_PORT`) === undefined ? [] : [{ part: service, host: '0.0.0.0' }]),
    ...(variables.has('METRICS_PORT') ? [{ part: 'METRICS', host: '127.0.0.1' }] : []),
  ];
  return places.flatMap(({ part, host }) => {
    const listensTo = variables.get(`${part}_HOST`) ?? host;
    const port = Number(variables.get(`${part}_PORT`) ?? settingOf(command, `${part}_PORT`)?.fallback);
    const problems: string[] = [];
    if (LOOPBACK.test(listensTo))
      problems.push(`${part}_HOST is ${listensTo}, which nobody outside of the pod reaches`);
    if (!ports.some(({ containerPort }) => containerPort === port))
      problems.push(`${part}_PORT is ${port}, and the container names no such port`);
    return problems;
  });
}

function userProblems(variables: ReadonlyMap<string, string>, { pod }: Workload): string[] {
  const user = variables.get('NATS_USER') ?? '(none)';
  const keys = (pod.volumes ?? []).flatMap(({ secret }) => (secret?.items ?? []).map(({ key }) => key));
  return [
    ...(new RegExp(`^\\s*user: ${user}$`, 'mu').test(USERS) ? [] : [`NATS_USER ${user} is not in users.conf`]),
    ...(variables.get('NATS_INBOX') === `_INBOX_${user}` ? [] : [`NATS_INBOX is not _INBOX_${user}`]),
    ...(keys.length === 1 && keys[0] === user
      ? []
      : [`the pod is given the passwords of ${keys.join(', ')}, not of ${user}`]),
  ];
}

function probeProblems({ startupProbe, readinessProbe, livenessProbe }: Container): string[] {
  const probes = [startupProbe, readinessProbe, livenessProbe].flatMap((probe) => probe?.httpGet?.path ?? []);
  return [
    ...probes.filter((path) => !HTTP_PATHS.has(path)).map((path) => `a probe asks for ${path}, which is not served`),
    ...(livenessProbe?.httpGet?.path === '/readyz' ? ['a service that is not ready is no reason to restart it'] : []),
  ];
}
