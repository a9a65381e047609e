/** The manifests of deploy/kubernetes hold, and each kind of mistake in them is found. */
import { beforeAll, describe, expect, test } from 'vitest';
import { hardeningProblems } from '../check/manifests/hardening.js';
import { nameOf, type Manifest } from '../check/manifests/manifest.js';
import { natsProblems } from '../check/manifests/nats.js';
import { referenceProblems } from '../check/manifests/references.js';
import { renderOverlays } from '../check/manifests/render.js';
import { settingsProblems } from '../check/manifests/settings.js';
import { typeProblems } from '../check/manifests/typed.js';

type Path = readonly (string | number)[];
/** A mistake: in which manifest, where, and what stands there instead. `undefined` takes the field away. */
interface Mistake {
  readonly in: string;
  readonly at: Path;
  readonly is: unknown;
  /** What the complaint has to say. */
  readonly told: RegExp;
}

const EDGE: Path = ['spec', 'template', 'spec'];
const CONTAINER: Path = [...EDGE, 'containers', 0];
const GC: Path = ['spec', 'jobTemplate', 'spec', 'template', 'spec'];
const OVERLAY = 'monitored';

let overlays: Map<string, Manifest[]>;

beforeAll(() => {
  overlays = renderOverlays();
});

/** The overlay with everything in it, with one mistake. */
function withMistake({ in: name, at, is }: Mistake): Manifest[] {
  const manifests = structuredClone(overlays.get(OVERLAY) ?? []);
  let part = manifests.find((manifest) => nameOf(manifest) === name) as unknown as Record<string | number, unknown>;
  for (const key of at.slice(0, -1)) part = part[key] as Record<string | number, unknown>;
  const last = at.at(-1) ?? '';
  if (is === undefined) delete part[last];
  else part[last] = is;
  return manifests;
}

/** The place of an environment variable of the edge. */
function variable(name: string): Path {
  const edge = overlays.get(OVERLAY)?.find((manifest) => nameOf(manifest) === 'Deployment/revcast-edge');
  const spec = edge?.['spec'] as { template: { spec: { containers: { env: { name: string }[] }[] } } };
  return [...CONTAINER, 'env', spec.template.spec.containers[0]?.env.findIndex((one) => one.name === name) ?? -1];
}

/** Its name has a hash of what is in it. */
function settingsName(): string {
  const names = (overlays.get(OVERLAY) ?? []).map(nameOf);
  return names.find((name) => name.startsWith('ConfigMap/revcast-settings')) ?? '(none)';
}

describe('the manifests', () => {
  test('[M1] every overlay renders, and fits the types of Kubernetes’ interface', () => {
    expect([...overlays.keys()]).toEqual(['development', 'external-nats', 'monitored', 'production']);
    for (const manifests of overlays.values()) expect(manifests.length).toBeGreaterThan(15);
    expect(typeProblems([...overlays.values()].flat())).toEqual([]);
  });

  test('[M2] a misspelled field at any depth, a wrong type, a missing field and an unknown kind are told with their place', () => {
    const edge = 'Deployment/revcast-edge';
    const mistakes: Mistake[] = [
      { in: edge, at: ['sepc'], is: {}, told: /revcast-edge: .*'sepc' does not exist/u },
      { in: edge, at: ['metadata', 'lables'], is: {}, told: /metadata\.lables: .*'lables' does not exist/u },
      { in: edge, at: ['spec', 'strategy', 'rollingUpdate', 'maxSurges'], is: 1, told: /rollingUpdate\.maxSurges/u },
      { in: edge, at: [...CONTAINER, 'readynessProbe'], is: {}, told: /containers\[0\]\.readynessProbe/u },
      { in: edge, at: [...CONTAINER, 'readinessProbe', 'httpGet', 'prot'], is: 80, told: /httpGet\.prot/u },
      { in: edge, at: [...CONTAINER, 'securityContext', 'capabilities', 'dorp'], is: [], told: /capabilities\.dorp/u },
      { in: edge, at: [...CONTAINER, 'env', 0, 'vlaue'], is: 'x', told: /env\[0\]\.vlaue/u },
      { in: edge, at: [...EDGE, 'volumes', 0, 'secret', 'items', 0, 'pth'], is: 'x', told: /items\[0\]\.pth/u },
      { in: edge, at: [...EDGE, 'securityContext', 'sysctls', 0, 'vale'], is: '1', told: /sysctls\[0\]\.vale/u },
      { in: edge, at: [...CONTAINER, 'env', 0, 'value'], is: 8080, told: /env\[0\]\.value: .*number/u },
      { in: edge, at: [...EDGE, 'terminationGracePeriodSeconds'], is: '60', told: /GracePeriodSeconds: .*string/u },
      { in: edge, at: [...CONTAINER, 'resources', 'limits', 'cpu'], is: 2, told: /limits\.cpu/u },
      { in: edge, at: [...CONTAINER, 'name'], is: undefined, told: /'name' is missing/u },
      { in: edge, at: ['spec', 'selector'], is: undefined, told: /'selector' is missing/u },
      { in: edge, at: ['apiVersion'], is: 'apps/v1beta1', told: /no kind Deployment in apps\/v1beta1/u },
      { in: edge, at: ['kind'], is: 'Deploymnet', told: /no kind Deploymnet/u },
      { in: 'CronJob/revcast-gc', at: [...GC, 'restartPolcy'], is: 'Never', told: /spec\.restartPolcy/u },
      {
        in: 'HorizontalPodAutoscaler/revcast-edge',
        at: ['spec', 'metrics', 1, 'pods', 'metrik'],
        is: {},
        told: /metrics\[1\]\.pods\.metrik/u,
      },
      { in: 'NetworkPolicy/revcast-nats', at: ['spec', 'ingress', 0, 'form'], is: [], told: /ingress\[0\]\.form/u },
      {
        in: 'StatefulSet/revcast-nats',
        at: ['spec', 'volumeClaimTemplates', 0, 'spec', 'accessMode'],
        is: [],
        told: /\.accessMode/u,
      },
      {
        in: 'ServiceMonitor/revcast',
        at: ['spec', 'endpoints', 0, 'intervall'],
        is: '1s',
        told: /endpoints\[0\]\.intervall/u,
      },
    ];
    const changed = mistakes.map((mistake) => {
      const manifests = withMistake(mistake);
      const index = (overlays.get(OVERLAY) ?? []).findIndex((manifest) => nameOf(manifest) === mistake.in);
      return manifests[index] as Manifest;
    });
    const problems = typeProblems(changed);

    for (const { told } of mistakes) expect(problems.filter((problem) => told.test(problem))).toHaveLength(1);
    expect(problems).toHaveLength(mistakes.length);
  });

  test('[M3] what services are given are settings that they know, with values that they take', () => {
    for (const manifests of overlays.values()) expect(settingsProblems(manifests)).toEqual([]);
    const edge = 'Deployment/revcast-edge';
    const mistakes: Mistake[] = [
      {
        in: edge,
        at: [...variable('EDGE_MAX_SOCKETS'), 'name'],
        is: 'EDGE_MAX_SOKETS',
        told: /edge has no setting EDGE_MAX_SOKETS/u,
      },
      {
        in: edge,
        at: [...variable('EDGE_MAX_SOCKETS'), 'value'],
        is: 'many',
        told: /EDGE_MAX_SOCKETS must be a whole number/u,
      },
      {
        in: edge,
        at: [...variable('EDGE_HOST'), 'name'],
        is: 'PRODUCER_HOST',
        told: /edge has no setting PRODUCER_HOST/u,
      },
      {
        in: edge,
        at: [...variable('EDGE_PORT'), 'value'],
        is: '8090',
        told: /EDGE_PORT is 8090, and the container names no such port/u,
      },
      {
        in: edge,
        at: [...variable('METRICS_PORT'), 'value'],
        is: '9000',
        told: /METRICS_PORT is 9000, and the container names/u,
      },
      { in: edge, at: [...variable('EDGE_HOST'), 'value'], is: '127.0.0.1', told: /EDGE_HOST is 127\.0\.0\.1, which/u },
      {
        in: edge,
        at: variable('METRICS_HOST'),
        is: { name: 'LOG_LEVEL', value: 'info' },
        told: /METRICS_HOST is 127/u,
      },
      { in: edge, at: [...CONTAINER, 'args'], is: ['egde'], told: /there is no command egde/u },
      { in: edge, at: [...variable('NATS_USER'), 'value'], is: 'producer', told: /NATS_INBOX is not _INBOX_producer/u },
      {
        in: edge,
        at: [...variable('NATS_USER'), 'value'],
        is: 'nobody',
        told: /NATS_USER nobody is not in users\.conf/u,
      },
      {
        in: edge,
        at: [...EDGE, 'volumes', 0, 'secret', 'items', 0, 'key'],
        is: 'admin',
        told: /passwords of admin, not of edge/u,
      },
      {
        in: edge,
        at: [...CONTAINER, 'livenessProbe', 'httpGet', 'path'],
        is: '/health',
        told: /\/health, which is not served/u,
      },
      {
        in: settingsName(),
        at: ['data', 'LOG_REPLICA'],
        is: '3',
        told: /no command has a setting LOG_REPLICA/u,
      },
      {
        in: settingsName(),
        at: ['data', 'LOG_REPLICAS'],
        is: '2',
        told: /LOG_REPLICAS must be one of 1, 3/u,
      },
    ];
    for (const mistake of mistakes) expect(settingsProblems(withMistake(mistake)).join('\n')).toMatch(mistake.told);
  });

  test('[M3] the log that services are told to keep fits the servers: replicas, disk, and what readiness asks for', () => {
    for (const manifests of overlays.values()) expect(natsProblems(manifests)).toEqual([]);
    const nats = 'StatefulSet/revcast-nats';
    const mistakes: Mistake[] = [
      { in: settingsName(), at: ['data', 'NATS_URL'], is: 'nats://revcast-nat:4222', told: /no such service/u },
      { in: settingsName(), at: ['data', 'NATS_URL'], is: 'nats://revcast-nats:4223', told: /no such service/u },
      { in: settingsName(), at: ['data', 'NATS_URL'], is: 'tls://nats-1.example:4222', told: /no such service/u },
      { in: nats, at: ['spec', 'replicas'], is: 2, told: /LOG_REPLICAS is 3, and there are 2/u },
      {
        in: nats,
        at: ['spec', 'volumeClaimTemplates', 0, 'spec', 'resources', 'requests', 'storage'],
        is: '10Gi',
        told: /the disk has 10737418240/u,
      },
      { in: nats, at: [...CONTAINER, 'readinessProbe', 'exec', 'command', 2], is: '1', told: /asks for 1 members/u },
    ];
    for (const mistake of mistakes) expect(natsProblems(withMistake(mistake)).join('\n')).toMatch(mistake.told);
  });

  test('[M8] the pod of a NATS server of several is told to hand on what it leads, and has the time for it', () => {
    const nats = 'StatefulSet/revcast-nats';
    const mistakes: Mistake[] = [
      { in: nats, at: [...CONTAINER, 'lifecycle'], is: undefined, told: /no preStop has it hand on/u },
      { in: nats, at: [...EDGE, 'terminationGracePeriodSeconds'], is: 30, told: /is 30, and lame duck mode takes/u },
    ];
    for (const mistake of mistakes) expect(natsProblems(withMistake(mistake)).join('\n')).toMatch(mistake.told);
  });

  test('[M4] what manifests name of each other is there: selectors, ports, ConfigMaps, Secrets, accounts, volumes', () => {
    for (const manifests of overlays.values()) expect(referenceProblems(manifests)).toEqual([]);
    const edge = 'Deployment/revcast-edge';
    const other = { 'app.kubernetes.io/component': 'other' };
    const mistakes: Mistake[] = [
      {
        in: edge,
        at: ['spec', 'selector', 'matchLabels'],
        is: other,
        told: /does not match the labels of its own pods/u,
      },
      {
        in: edge,
        at: [...EDGE, 'topologySpreadConstraints', 0, 'labelSelector', 'matchLabels'],
        is: other,
        told: /spread constraint/u,
      },
      { in: edge, at: [...EDGE, 'serviceAccountName'], is: 'default', told: /no ServiceAccount default/u },
      {
        in: edge,
        at: [...CONTAINER, 'envFrom', 0, 'configMapRef', 'name'],
        is: 'revcast-setting',
        told: /no ConfigMap revcast-setting/u,
      },
      {
        in: edge,
        at: [...EDGE, 'volumes', 0, 'secret', 'secretName'],
        is: 'revcast-nats-client',
        told: /no Secret revcast-nats-client/u,
      },
      { in: edge, at: [...EDGE, 'volumes', 0, 'secret', 'items', 0, 'key'], is: 'egde', told: /has no key egde/u },
      { in: edge, at: [...CONTAINER, 'volumeMounts', 0, 'name'], is: 'passwords', told: /no volume passwords/u },
      { in: edge, at: [...CONTAINER, 'readinessProbe', 'httpGet', 'port'], is: 'htpp', told: /asks port htpp/u },
      { in: edge, at: ['spec', 'replicas'], is: 3, told: /has replicas of its own/u },
      { in: 'Service/revcast-edge', at: ['spec', 'selector'], is: other, told: /no pods match its selector/u },
      { in: 'Service/revcast-edge', at: ['spec', 'ports', 0, 'targetPort'], is: 'web', told: /has no port web/u },
      { in: 'Service/revcast-nats-peers', at: ['spec', 'clusterIP'], is: undefined, told: /no headless service/u },
      {
        in: 'PodDisruptionBudget/revcast-edge',
        at: ['spec', 'selector', 'matchLabels'],
        is: other,
        told: /no pods match/u,
      },
      {
        in: 'HorizontalPodAutoscaler/revcast-edge',
        at: ['spec', 'scaleTargetRef', 'name'],
        is: 'edge',
        told: /no Deployment\/edge/u,
      },
      {
        in: 'NetworkPolicy/revcast-edge',
        at: ['spec', 'ingress', 0, 'ports', 0, 'port'],
        is: 8081,
        told: /no port 8081/u,
      },
      {
        in: 'NetworkPolicy/revcast-services',
        at: ['spec', 'egress', 0, 'ports', 0, 'port'],
        is: 4223,
        told: /the pods that it allows have no port 4223/u,
      },
      {
        in: 'HorizontalPodAutoscaler/revcast-edge',
        at: ['spec', 'minReplicas'],
        is: 101,
        told: /minReplicas is 101, and maxReplicas 100/u,
      },
      {
        in: 'HorizontalPodAutoscaler/revcast-edge',
        at: ['spec', 'metrics', 0, 'resource', 'target', 'averageUtilization'],
        is: 600,
        told: /no pod is to use 600 %/u,
      },
      {
        in: 'NetworkPolicy/revcast-services',
        at: ['spec', 'egress', 0, 'to', 0, 'podSelector', 'matchLabels'],
        is: other,
        told: /no pods match/u,
      },
      {
        in: 'Ingress/revcast-edge',
        at: ['spec', 'rules', 0, 'http', 'paths', 0, 'backend', 'service', 'name'],
        is: 'edge',
        told: /no service edge/u,
      },
      {
        in: 'ServiceMonitor/revcast',
        at: ['spec', 'endpoints', 0, 'port'],
        is: 'metrix',
        told: /has no port metrix/u,
      },
      {
        in: 'StatefulSet/revcast-nats',
        at: [...CONTAINER, 'env', 1, 'valueFrom', 'secretKeyRef', 'key'],
        is: 'ADMIN',
        told: /has no key ADMIN/u,
      },
    ];
    for (const mistake of mistakes) expect(referenceProblems(withMistake(mistake)).join('\n')).toMatch(mistake.told);
  });

  test('[M5] a pod is given longer than its process, an edge’s process longer than its drain, and a rollout waits for that', () => {
    const edge = 'Deployment/revcast-edge';
    const mistakes: Mistake[] = [
      {
        in: edge,
        at: [...variable('EDGE_DRAIN_MS'), 'value'],
        is: '300000',
        told: /STOP_TIMEOUT_MS is \d+, and the drain takes/u,
      },
      {
        in: edge,
        at: [...variable('STOP_TIMEOUT_MS'), 'value'],
        is: '120000',
        told: /terminationGracePeriodSeconds is/u,
      },
      { in: edge, at: ['spec', 'minReadySeconds'], is: 5, told: /minReadySeconds is 5: edges would drain beside/u },
      {
        in: edge,
        at: [...EDGE, 'terminationGracePeriodSeconds'],
        is: undefined,
        told: /terminationGracePeriodSeconds is 30/u,
      },
    ];
    for (const mistake of mistakes) expect(settingsProblems(withMistake(mistake)).join('\n')).toMatch(mistake.told);
  });

  test('[M6] pods have no rights, no root, a root file system that is only read, bounded memory; no secret is in the repository', () => {
    for (const manifests of overlays.values()) expect(hardeningProblems(manifests)).toEqual([]);
    const nats = 'StatefulSet/revcast-nats';
    const mistakes: Mistake[] = [
      { in: nats, at: [...EDGE, 'automountServiceAccountToken'], is: true, told: /a token of the cluster/u },
      { in: nats, at: [...EDGE, 'securityContext', 'runAsNonRoot'], is: false, told: /may run as root/u },
      { in: nats, at: [...EDGE, 'securityContext', 'seccompProfile'], is: undefined, told: /no seccomp profile/u },
      {
        in: nats,
        at: [...CONTAINER, 'securityContext', 'readOnlyRootFilesystem'],
        is: false,
        told: /may write its root/u,
      },
      { in: nats, at: [...CONTAINER, 'securityContext', 'capabilities', 'drop'], is: [], told: /keeps capabilities/u },
      { in: nats, at: [...CONTAINER, 'image'], is: 'nats', told: /names no version/u },
      { in: nats, at: [...CONTAINER, 'resources', 'limits'], is: undefined, told: /no limit of memory/u },
      { in: nats, at: [...CONTAINER, 'resources', 'requests', 'memory'], is: '1GB', told: /1GB is no quantity/u },
    ];
    for (const mistake of mistakes) expect(hardeningProblems(withMistake(mistake)).join('\n')).toMatch(mistake.told);
    const leaked = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      data: { key: Buffer.from('hunter2').toString('base64') },
    };
    expect(hardeningProblems([leaked])).toEqual(['Secret/s: the repository has a value for key']);
  });
});
