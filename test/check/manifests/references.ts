/**
 * What manifests name of each other must be there: ConfigMaps, Secrets and their keys, service accounts, ports, pods
 * behind selectors, the target of an autoscaler, volumes. Secrets that an operator makes are listed, with their keys.
 */
import type { HorizontalPodAutoscalerSpec } from 'kubernetes-types/autoscaling/v2.js';
import type { Container, EnvVarSource, ServiceSpec, Volume } from 'kubernetes-types/core/v1.js';
import type { LabelSelector } from 'kubernetes-types/meta/v1.js';
import type {
  IngressSpec,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from 'kubernetes-types/networking/v1.js';
import type { ServiceMonitor } from './service-monitor.js';
import { nameOf, ofKind, selects, workloadsOf, type Manifest, type Workload } from './manifest.js';

/** Made by an operator, never from this repository. */
const OPERATORS_SECRETS: Readonly<Record<string, readonly string[]>> = {
  'revcast-nats-server': [
    'NATS_ADMIN_PASSWORD',
    'NATS_PRODUCER_PASSWORD',
    'NATS_REVISION_PASSWORD',
    'NATS_EDGE_PASSWORD',
    'NATS_GC_PASSWORD',
    'NATS_ROUTE_PASSWORD',
  ],
  'revcast-nats-clients': ['admin', 'producer', 'revision', 'edge', 'gc'],
  'live-example-tls': ['tls.crt', 'tls.key'],
};

interface Named {
  readonly name: string;
  readonly key?: string | undefined;
}

export function referenceProblems(manifests: readonly Manifest[]): string[] {
  const workloads = workloadsOf(manifests);
  return [
    ...workloads.flatMap((workload) => workloadProblems(workload, manifests)),
    ...ofKind(manifests, 'Service').flatMap((service) => serviceProblems(service, workloads)),
    ...ofKind(manifests, 'PodDisruptionBudget').flatMap((budget) => selectorProblems(budget, workloads)),
    ...ofKind(manifests, 'NetworkPolicy').flatMap((policy) => policyProblems(policy, workloads)),
    ...ofKind(manifests, 'HorizontalPodAutoscaler').flatMap((autoscaler) => targetProblems(autoscaler, manifests)),
    ...ofKind(manifests, 'Ingress').flatMap((ingress) => ingressProblems(ingress, manifests)),
    ...ofKind(manifests, 'ServiceMonitor').flatMap((monitor) => monitorProblems(monitor, manifests)),
  ];
}

function workloadProblems(workload: Workload, manifests: readonly Manifest[]): string[] {
  const { manifest, pod, labels, selector } = workload;
  const containers = [...(pod.initContainers ?? []), ...pod.containers];
  const problems = [
    ...(selector === undefined || selects(selector, labels)
      ? []
      : ['selector does not match the labels of its own pods']),
    ...(pod.topologySpreadConstraints ?? []).flatMap(({ labelSelector }) =>
      labelSelector !== undefined && selects(labelSelector, labels)
        ? []
        : ['a spread constraint does not match its own pods'],
    ),
    ...missing('ServiceAccount', [{ name: pod.serviceAccountName ?? '(none)' }], manifests),
    ...missing('ConfigMap', containers.flatMap(configMapsOf), manifests),
    ...missing('Secret', containers.flatMap(secretsOf), manifests),
    ...(pod.volumes ?? []).flatMap((volume) => volumeProblems(volume, manifests)),
    ...containers.flatMap((container) => containerProblems(container, workload)),
    ...peersProblems(manifest, manifests),
  ];
  return problems.map((problem) => `${nameOf(manifest)}: ${problem}`);
}

function configMapsOf({ env = [], envFrom = [] }: Container): Named[] {
  return [
    ...envFrom.flatMap(({ configMapRef }) => (configMapRef === undefined ? [] : [{ name: configMapRef.name ?? '' }])),
    ...env.flatMap(({ valueFrom }) => keyRef(valueFrom?.configMapKeyRef)),
  ];
}

function secretsOf({ env = [], envFrom = [] }: Container): Named[] {
  return [
    ...envFrom.flatMap(({ secretRef }) => (secretRef === undefined ? [] : [{ name: secretRef.name ?? '' }])),
    ...env.flatMap(({ valueFrom }) => keyRef(valueFrom?.secretKeyRef)),
  ];
}

function keyRef(ref: EnvVarSource['secretKeyRef']): Named[] {
  return ref === undefined ? [] : [{ name: ref.name ?? '', key: ref.key }];
}

function volumeProblems({ configMap, secret }: Volume, manifests: readonly Manifest[]): string[] {
  const configMaps = configMap === undefined ? [] : itemsOf(configMap.name ?? '', configMap.items);
  const secrets = secret === undefined ? [] : itemsOf(secret.secretName ?? '', secret.items);
  return [...missing('ConfigMap', configMaps, manifests), ...missing('Secret', secrets, manifests)];
}

function itemsOf(name: string, items: readonly { key: string }[] = []): Named[] {
  return items.length === 0 ? [{ name }] : items.map(({ key }) => ({ name, key }));
}

function missing(kind: string, wanted: readonly Named[], manifests: readonly Manifest[]): string[] {
  return wanted.flatMap(({ name, key }) => {
    const keys = keysOf(kind, name, manifests);
    if (keys === undefined) return [`there is no ${kind} ${name}`];
    return key === undefined || keys.includes(key) ? [] : [`${kind} ${name} has no key ${key}`];
  });
}

function keysOf(kind: string, name: string, manifests: readonly Manifest[]): readonly string[] | undefined {
  const found = ofKind(manifests, kind).find(({ metadata }) => metadata.name === name);
  if (found === undefined) return kind === 'Secret' ? OPERATORS_SECRETS[name] : undefined;
  const parts = [found['data'], found['stringData'], found['binaryData']] as (object | undefined)[];
  return parts.flatMap((part) => Object.keys(part ?? {}));
}

function containerProblems(container: Container, { pod, manifest }: Workload): string[] {
  const { name, ports = [], volumeMounts = [], startupProbe, readinessProbe, livenessProbe } = container;
  const claims = (manifest['spec'] as { volumeClaimTemplates?: Manifest[] }).volumeClaimTemplates ?? [];
  const volumes = new Set([...(pod.volumes ?? []).map((volume) => volume.name), ...claims.map((c) => c.metadata.name)]);
  const probed = [startupProbe, readinessProbe, livenessProbe].flatMap((probe) => probe?.httpGet?.port ?? []);
  return [
    ...volumeMounts
      .filter((mount) => !volumes.has(mount.name))
      .map((mount) => `${name}: there is no volume ${mount.name}`),
    ...probed
      .filter((port) => !ports.some((one) => one.name === port || one.containerPort === port))
      .map((port) => `${name}: a probe asks port ${port}, which it does not have`),
  ];
}

/** A StatefulSet's service gives its pods their names. */
function peersProblems(manifest: Manifest, manifests: readonly Manifest[]): string[] {
  if (manifest.kind !== 'StatefulSet') return [];
  const { serviceName } = manifest['spec'] as { serviceName: string };
  const service = ofKind(manifests, 'Service').find(({ metadata }) => metadata.name === serviceName);
  const headless = (service?.['spec'] as ServiceSpec | undefined)?.clusterIP === 'None';
  return headless ? [] : [`there is no headless service ${serviceName}`];
}

function serviceProblems(service: Manifest, workloads: readonly Workload[]): string[] {
  const { selector = {}, ports = [] } = service['spec'] as ServiceSpec;
  const behind = workloads.filter(({ labels }) => selects({ matchLabels: selector }, labels));
  if (behind.length === 0) return [`${nameOf(service)}: no pods match its selector`];
  return behind.flatMap(({ manifest, pod }) => {
    const offered = pod.containers.flatMap((container) => container.ports ?? []);
    return ports
      .map(({ targetPort, port }) => targetPort ?? port)
      .filter((port) => !offered.some(({ name, containerPort }) => name === port || containerPort === port))
      .map((port) => `${nameOf(service)}: ${nameOf(manifest)} has no port ${port}`);
  });
}

function selectorProblems(manifest: Manifest, workloads: readonly Workload[]): string[] {
  const { selector = {} } = manifest['spec'] as { selector?: LabelSelector };
  return workloads.some(({ labels }) => selects(selector, labels))
    ? []
    : [`${nameOf(manifest)}: no pods match its selector`];
}

/**
 * Peers without a namespace are pods of these manifests. Ports of ingress are those of the pods that the policy is about,
 * ports of egress those of the peers.
 */
function policyProblems(policy: Manifest, workloads: readonly Workload[]): string[] {
  const { podSelector, ingress = [], egress = [] } = policy['spec'] as NetworkPolicySpec;
  const about = workloads.filter(({ labels }) => selects(podSelector, labels));
  if (about.length === 0) return [`${nameOf(policy)}: no pods match its selector`];
  const peers = [...ingress.flatMap(({ from = [] }) => from), ...egress.flatMap(({ to = [] }) => to)];
  return [
    ...peers
      .flatMap(localSelector)
      .filter((peer) => !workloads.some(({ labels }) => selects(peer, labels)))
      .map((peer) => `no pods match ${JSON.stringify(peer)}`),
    ...ingress.flatMap(({ ports = [] }) => portsWithout(ports, about).map((port) => `its pods have no port ${port}`)),
    ...egress.flatMap(({ to = [], ports = [] }) => {
      const selectors = to.flatMap(localSelector);
      // Others are among those that the rule allows, and their ports are not known here.
      if (selectors.length === 0 || selectors.length < to.length) return [];
      const reached = workloads.filter(({ labels }) => selectors.some((selector) => selects(selector, labels)));
      return portsWithout(ports, reached).map((port) => `the pods that it allows have no port ${port}`);
    }),
  ].map((problem) => `${nameOf(policy)}: ${problem}`);
}

function localSelector({ namespaceSelector, podSelector }: NetworkPolicyPeer): LabelSelector[] {
  return namespaceSelector === undefined && podSelector !== undefined ? [podSelector] : [];
}

/** Those that none of the pods has. */
function portsWithout(ports: readonly NetworkPolicyPort[], workloads: readonly Workload[]): (string | number)[] {
  const offered = workloads.flatMap(({ pod }) => pod.containers).flatMap((container) => container.ports ?? []);
  return ports
    .flatMap(({ port }) => port ?? [])
    .filter((port) => !offered.some(({ name, containerPort }) => name === port || containerPort === port));
}

function targetProblems(autoscaler: Manifest, manifests: readonly Manifest[]): string[] {
  const spec = autoscaler['spec'] as HorizontalPodAutoscalerSpec;
  const { scaleTargetRef: target, minReplicas = 1, maxReplicas, metrics = [] } = spec;
  const found = ofKind(manifests, target.kind).find(({ metadata }) => metadata.name === target.name);
  const replicas = (found?.['spec'] as { replicas?: number } | undefined)?.replicas;
  const utilizations = metrics.flatMap(({ resource }) => resource?.target.averageUtilization ?? []);
  return [
    ...(found === undefined ? [`there is no ${target.kind}/${target.name}`] : []),
    ...(replicas === undefined ? [] : [`${target.kind}/${target.name} has replicas of its own`]),
    ...(minReplicas <= maxReplicas ? [] : [`minReplicas is ${minReplicas}, and maxReplicas ${maxReplicas}`]),
    ...utilizations
      .filter((percent) => percent < 1 || percent > 100)
      .map((percent) => `no pod is to use ${percent} % of what it requests`),
  ].map((problem) => `${nameOf(autoscaler)}: ${problem}`);
}

function ingressProblems(ingress: Manifest, manifests: readonly Manifest[]): string[] {
  const { rules = [], tls = [] } = ingress['spec'] as IngressSpec;
  const backends = rules.flatMap((rule) => rule.http?.paths ?? []).flatMap(({ backend }) => backend.service ?? []);
  const lost = backends.filter(({ name, port }) => {
    const service = ofKind(manifests, 'Service').find(({ metadata }) => metadata.name === name);
    const ports = (service?.['spec'] as ServiceSpec | undefined)?.ports ?? [];
    return !ports.some((one) => one.name === port?.name || one.port === port?.number);
  });
  return [
    ...lost.map(({ name, port }) => `there is no service ${name} with port ${port?.name ?? port?.number}`),
    ...missing(
      'Secret',
      tls.map(({ secretName = '' }) => ({ name: secretName })),
      manifests,
    ),
  ].map((problem) => `${nameOf(ingress)}: ${problem}`);
}

function monitorProblems(monitor: Manifest, manifests: readonly Manifest[]): string[] {
  const { selector, endpoints } = monitor['spec'] as ServiceMonitor['spec'];
  const services = ofKind(manifests, 'Service').filter(({ metadata }) => selects(selector, metadata.labels ?? {}));
  if (services.length === 0) return [`${nameOf(monitor)}: no services match its selector`];
  return services.flatMap((service) => {
    const ports = (service['spec'] as ServiceSpec).ports ?? [];
    return endpoints
      .filter(({ port }) => !ports.some(({ name }) => name === port))
      .map(({ port }) => `${nameOf(monitor)}: ${nameOf(service)} has no port ${port}`);
  });
}
