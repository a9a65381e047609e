/** The Prometheus operator's ServiceMonitor, as much of it as the manifests may use. */
import type { LabelSelector, ObjectMeta } from 'kubernetes-types/meta/v1.js';

export interface ServiceMonitor {
  apiVersion: 'monitoring.coreos.com/v1';
  kind: 'ServiceMonitor';
  metadata: ObjectMeta;
  spec: {
    selector: LabelSelector;
    namespaceSelector?: { any?: boolean; matchNames?: string[] };
    jobLabel?: string;
    podTargetLabels?: string[];
    endpoints: {
      port: string;
      path?: string;
      scheme?: 'http' | 'https';
      interval?: string;
      scrapeTimeout?: string;
      honorLabels?: boolean;
    }[];
  };
}
