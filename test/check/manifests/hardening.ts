/** What every pod is held to: no rights, no root, a root file system that cannot be written, bounded resources. */
import type { Container } from 'kubernetes-types/core/v1.js';
import { nameOf, ofKind, workloadsOf, type Manifest } from './manifest.js';

const QUANTITY = /^\d+(?:\.\d+)?(?:m|Ki|Mi|Gi|Ti|k|M|G|T)?$/u;
/** The passwords of the example files, which stand in while rendering. */
const STAND_IN = /^choose-/u;

export function hardeningProblems(manifests: readonly Manifest[]): string[] {
  const pods = workloadsOf(manifests).flatMap(({ manifest, pod }) =>
    [
      ...(pod.automountServiceAccountToken === false ? [] : ['it is given a token of the cluster']),
      ...(pod.securityContext?.runAsNonRoot === true ? [] : ['it may run as root']),
      ...(pod.securityContext?.seccompProfile?.type === 'RuntimeDefault' ? [] : ['it has no seccomp profile']),
      ...(pod.hostNetwork === true || pod.hostPID === true ? ['it is in a namespace of the host'] : []),
      ...[...(pod.initContainers ?? []), ...pod.containers].flatMap(containerProblems),
    ].map((problem) => `${nameOf(manifest)}: ${problem}`),
  );
  const secrets = ofKind(manifests, 'Secret').flatMap((secret) =>
    Object.entries((secret['data'] ?? {}) as Record<string, string>)
      .filter(([, value]) => !STAND_IN.test(Buffer.from(value, 'base64').toString()))
      .map(([key]) => `${nameOf(secret)}: the repository has a value for ${key}`),
  );
  return [...pods, ...secrets];
}

function containerProblems({ name, image, securityContext, resources }: Container): string[] {
  const { requests = {}, limits = {} } = resources ?? {};
  const quantities = [...Object.values(requests), ...Object.values(limits)];
  return [
    ...(securityContext?.allowPrivilegeEscalation === false ? [] : ['may gain privileges']),
    ...(securityContext?.readOnlyRootFilesystem === true ? [] : ['may write its root file system']),
    ...(securityContext?.capabilities?.drop?.includes('ALL') === true ? [] : ['keeps capabilities']),
    ...(/:[^/]+$/u.test(image ?? '') && image?.endsWith(':latest') !== true ? [] : [`image ${image} names no version`]),
    ...(requests['cpu'] === undefined || requests['memory'] === undefined ? ['requests no CPU or memory'] : []),
    ...(limits['memory'] === undefined ? ['has no limit of memory'] : []),
    ...quantities.filter((one) => !QUANTITY.test(one)).map((one) => `${one} is no quantity`),
  ].map((problem) => `${name}: ${problem}`);
}
