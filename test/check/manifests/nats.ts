/** Holds the NATS servers of an overlay, where it has them, against the log that the services are told to keep there. */
import type { StatefulSetSpec } from 'kubernetes-types/apps/v1.js';
import { nameOf, ofKind, type Manifest } from './manifest.js';

const GIB = 1024 ** 3;
/** JetStream takes three quarters of a disk by default. */
const USABLE = 0.75;

export function natsProblems(manifests: readonly Manifest[]): string[] {
  const settings = ofKind(manifests, 'ConfigMap').find(({ metadata }) => metadata.name.startsWith('revcast-settings'));
  const values = (settings?.['data'] ?? {}) as Readonly<Record<string, string>>;
  const servers = ofKind(manifests, 'StatefulSet').filter(({ metadata }) => metadata.name === 'revcast-nats');
  return servers.flatMap((server) => {
    const { replicas = 1, template, volumeClaimTemplates = [] } = server['spec'] as StatefulSetSpec;
    const streams = Number(values['LOG_MAX_BYTES']) + Number(values['LOG_MAX_SNAPSHOT_BYTES']);
    const storage = volumeClaimTemplates[0]?.spec?.resources?.requests?.['storage'] ?? '';
    const disk = /^\d+Gi$/u.test(storage) ? Number.parseInt(storage, 10) * GIB : 0;
    const asked = template.spec?.containers[0]?.readinessProbe?.exec?.command?.at(-1);
    return [
      ...(Number(values['LOG_REPLICAS']) === replicas
        ? []
        : [`LOG_REPLICAS is ${values['LOG_REPLICAS']}, and there are ${replicas} servers`]),
      ...(streams <= disk * USABLE ? [] : [`the streams may have ${streams} bytes, and the disk has ${disk}`]),
      ...(asked === String(replicas) ? [] : [`its readiness asks for ${asked} members, and there are ${replicas}`]),
    ].map((problem) => `${nameOf(server)}: ${problem}`);
  });
}
