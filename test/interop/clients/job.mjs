/**
 * What a client of the interop tests does, for runtimes with the standard WebSocket interface: opens connections,
 * subscribes, and tells every message as it came. Runs in a page and in Node.
 *
 * @typedef {{ id: string | number, room: string, batch: boolean, count: number }} Connection
 * @typedef {{ subscribed?: boolean, error?: object }} Data
 */

/**
 * @param {{ url: string, connections: Connection[] }} job
 * @param {() => void} onReady called when every subscribe was answered
 * @returns {Promise<string[][]>} for each connection its messages after that answer, as text
 */
export async function runJob({ url, connections }, onReady) {
  const running = connections.map((connection) => runConnection(url, connection));
  await Promise.all(running.map(({ subscribed }) => subscribed));
  onReady();
  return Promise.all(running.map(({ messages }) => messages));
}

/**
 * @param {string} url
 * @param {Connection} connection
 */
function runConnection(url, { id, room, batch, count }) {
  const socket = new WebSocket(url);
  /** @type {string[]} */
  const texts = [];
  let left = count;
  /** @type {(() => void) | undefined} */
  let onSubscribed;
  /** @type {Promise<void>} */
  const subscribed = new Promise((resolve) => {
    onSubscribed = resolve;
  });
  /** @type {Promise<string[]>} */
  const messages = new Promise((resolve, reject) => {
    socket.addEventListener('open', () => {
      socket.send(JSON.stringify({ id, method: 'subscribe', params: { room, batch, since: 0 } }));
    });
    socket.addEventListener('message', (/** @type {{ data: string }} */ event) => {
      const text = event.data;
      const { data } = /** @type {{ data: Data | Data[] }} */ (JSON.parse(text));
      if (!Array.isArray(data) && data.error !== undefined) reject(new Error(text));
      if (!Array.isArray(data) && data.subscribed === true) {
        onSubscribed?.();
        return;
      }
      texts.push(text);
      left -= Array.isArray(data) ? data.length : 1;
      if (left > 0) return;
      socket.close();
      resolve(texts);
    });
    socket.addEventListener('close', (/** @type {{ code: number }} */ event) => {
      reject(new Error(`closed with ${event.code} before the last ${left} revisions`));
    });
  });
  return { subscribed, messages };
}
