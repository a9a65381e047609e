/**
 * The edge's settings as the command line has them: the edge calls its own simply `port` or `flush`, but beside those of
 * the other services each carries the service's name, as its environment variable does: --edge-port, EDGE_PORT.
 */
import { edgeSettings, type EdgeSettings } from '../edge/settings.js';

type Own = typeof edgeSettings;
type Prefixed = { readonly [K in keyof Own as `edge${Capitalize<K>}`]: Own[K] };

export const edgeFlags = Object.fromEntries(
  Object.entries(edgeSettings).map(([name, setting]) => [prefixed(name), setting]),
) as unknown as Prefixed;

/** The edge's own names again. `values` may hold other settings beside. */
export function edgeValues(values: Readonly<Record<string, unknown>>): EdgeSettings {
  const own = Object.keys(edgeSettings).map((name) => [name, values[prefixed(name)]]);
  return Object.fromEntries(own) as EdgeSettings;
}

function prefixed(name: string): string {
  return `edge${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}
