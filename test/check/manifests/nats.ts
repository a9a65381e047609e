/**
 * Holds the NATS servers of an overlay, where it has them, against the log that the services are told to keep there, and
 * the end of their pods against the configuration of the servers.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { StatefulSetSpec } from 'kubernetes-types/apps/v1.js';
import type { ServiceSpec } from 'kubernetes-types/core/v1.js';
import { nameOf, ofKind, type Manifest } from './manifest.js';

const CLIENT_PORT = '4222';
const GIB = 1024 ** 3;
/** JetStream takes three quarters of a disk by default. */
const USABLE = 0.75;
const CONFIGURATION = readFileSync(
  fileURLToPath(new URL('../../../deploy/nats/jetstream.conf', import.meta.url)),
  'utf8',
);
/** For a new leader before, and the server's own end after lame duck mode. */
const LEAVE_SLACK_S = 10;

export function natsProblems(manifests: readonly Manifest[]): string[] {
  const settings = ofKind(manifests, 'ConfigMap').find(({ metadata }) => metadata.name.startsWith('revcast-settings'));
  const values = (settings?.['data'] ?? {}) as Readonly<Record<string, string>>;
  const servers = ofKind(manifests, 'StatefulSet').filter(({ metadata }) => metadata.name === 'revcast-nats');
  const addresses = addressProblems(values['NATS_URL'] ?? '', servers.length > 0, manifests);
  const others = servers.flatMap((server) => {
    const { replicas = 1, template, volumeClaimTemplates = [] } = server['spec'] as StatefulSetSpec;
    const streams = Number(values['LOG_MAX_BYTES']) + Number(values['LOG_MAX_SNAPSHOT_BYTES']);
    const storage = volumeClaimTemplates[0]?.spec?.resources?.requests?.['storage'] ?? '';
    const disk = /^\d+Gi$/u.test(storage) ? Number.parseInt(storage, 10) * GIB : 0;
    const leaveS = Number(/^lame_duck_duration: "(\d+)s"$/mu.exec(CONFIGURATION)?.[1]) + LEAVE_SLACK_S;
    const graceS = template.spec?.terminationGracePeriodSeconds ?? 30;
    const preStop = template.spec?.containers[0]?.lifecycle?.preStop?.exec?.command ?? [];
    const asked = template.spec?.containers[0]?.readinessProbe?.exec?.command?.at(-1);
    return [
      ...(Number(values['LOG_REPLICAS']) === replicas
        ? []
        : [`LOG_REPLICAS is ${values['LOG_REPLICAS']}, and there are ${replicas} servers`]),
      ...(streams <= disk * USABLE ? [] : [`the streams may have ${streams} bytes, and the disk has ${disk}`]),
      ...(asked === String(replicas) ? [] : [`its readiness asks for ${asked} members, and there are ${replicas}`]),
      ...(replicas === 1 || preStop.join(' ').includes('--signal ldm=')
        ? []
        : ['no preStop has it hand on what it leads before it ends']),
      ...(replicas === 1 || graceS >= leaveS
        ? []
        : [`terminationGracePeriodSeconds is ${graceS}, and lame duck mode takes up to ${leaveS} with some to spare`]),
    ].map((problem) => `${nameOf(server)}: ${problem}`);
  });
  return [...addresses, ...others];
}

/** An address of NATS is a Service of ours with that port; where there are no servers of ours, one outside of the cluster may be. */
function addressProblems(urls: string, ours: boolean, manifests: readonly Manifest[]): string[] {
  return urls.split(',').flatMap((url) => {
    if (!URL.canParse(url)) return [`NATS_URL has ${JSON.stringify(url)}, which is no address`];
    const { hostname, port } = new URL(url);
    const labels = hostname.split('.');
    if (!ours && labels.length > 1) return [];
    // SERVICE, SERVICE.NAMESPACE…, or POD.SERVICE…
    const services = ofKind(manifests, 'Service').filter(({ metadata }) => labels.slice(0, 2).includes(metadata.name));
    const ports = services.flatMap((service) => (service['spec'] as ServiceSpec).ports ?? []);
    return ports.some((one) => String(one.port) === (port || CLIENT_PORT))
      ? []
      : [`NATS_URL has ${url}, and there is no such service`];
  });
}
