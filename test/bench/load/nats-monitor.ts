/** What nats-server counts itself, over its monitoring port: messages to and from its clients. */

export interface NatsCounts {
  /** From clients to the server, and from it to clients, of all kinds: acknowledgements and JetStream's own too. */
  readonly inMessages: number;
  readonly outMessages: number;
  /** From it to the connections whose name begins with the prefix. */
  readonly outToNamed: number;
}

interface Connection {
  readonly name?: string;
  readonly out_msgs: number;
}

/** @param prefix of connections' names */
export async function natsCounts(monitorUrl: string, prefix: string): Promise<NatsCounts> {
  const server = await read<{ in_msgs: number; out_msgs: number }>(`${monitorUrl}/varz`);
  const { connections } = await read<{ connections: readonly Connection[] }>(`${monitorUrl}/connz?limit=1000`);
  const named = connections.filter(({ name }) => name?.startsWith(prefix) === true);
  return {
    inMessages: server.in_msgs,
    outMessages: server.out_msgs,
    outToNamed: named.reduce((sum, { out_msgs: out }) => sum + out, 0),
  };
}

/** What came between two readings, less what would have come of itself, for each of `count`. */
export function countsEach(before: NatsCounts, after: NatsCounts, idle: NatsCounts, count: number): NatsCounts {
  const each = (key: keyof NatsCounts) => (after[key] - before[key] - idle[key]) / count;
  return { inMessages: each('inMessages'), outMessages: each('outMessages'), outToNamed: each('outToNamed') };
}

async function read<T>(url: string): Promise<T> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return (await response.json()) as T;
}
