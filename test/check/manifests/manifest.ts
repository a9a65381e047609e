/** A Kubernetes manifest as far as all kinds are alike, and the parts of a workload that the checks look at. */
import type { LabelSelector } from 'kubernetes-types/meta/v1.js';
import type { PodSpec, PodTemplateSpec } from 'kubernetes-types/core/v1.js';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly [part: string]: unknown;
}

/** Something that makes pods. */
export interface Workload {
  readonly manifest: Manifest;
  readonly labels: Readonly<Record<string, string>>;
  readonly pod: PodSpec;
  /** Absent where Kubernetes chooses one itself (jobs). */
  readonly selector: LabelSelector | undefined;
}

interface WorkloadSpec {
  readonly selector?: LabelSelector;
  readonly template: PodTemplateSpec;
}

export function nameOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.name}`;
}

export function ofKind(manifests: readonly Manifest[], kind: string): Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

export function workloadsOf(manifests: readonly Manifest[]): Workload[] {
  return manifests.flatMap((manifest) => {
    const spec = specOf(manifest);
    if (spec === undefined) return [];
    const { template, selector } = spec;
    return [{ manifest, labels: template.metadata?.labels ?? {}, pod: template.spec ?? { containers: [] }, selector }];
  });
}

function specOf(manifest: Manifest): WorkloadSpec | undefined {
  switch (manifest.kind) {
    case 'Deployment':
    case 'StatefulSet':
    case 'DaemonSet':
    case 'Job':
      return manifest['spec'] as WorkloadSpec;
    case 'CronJob':
      return (manifest['spec'] as { jobTemplate: { spec: WorkloadSpec } }).jobTemplate.spec;
    default:
      return undefined;
  }
}

/** Whether a selector takes pods (or services) with these labels. An empty one takes all. */
export function selects(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'In') return value !== undefined && values.includes(value);
      if (operator === 'NotIn') return value === undefined || !values.includes(value);
      return operator === 'Exists' ? value !== undefined : value === undefined;
    })
  );
}
