/** uWebSockets.js with its own publish: what a broadcast costs at least. */
import uWS from 'uWebSockets.js';
import { answerParent } from '../load/child.js';
import { payload } from '../load/payload.js';
import { listen } from '../../../services/edge/uws.js';
import { messageText, usage, type Broadcast, type ServerApi, type ServerOptions } from './server.js';

const TOPIC = 'all';
const MAX_BACKPRESSURE_BYTES = 64 * 1024 * 1024;
const app = uWS.App();
let deflates = false;
let rev = 0;

const api = {
  async start({ deflate }: ServerOptions) {
    deflates = deflate;
    app.ws('/*', {
      compression: deflate ? uWS.SHARED_COMPRESSOR : uWS.DISABLED,
      maxBackpressure: MAX_BACKPRESSURE_BYTES,
      idleTimeout: 0,
      sendPingsAutomatically: false,
      open: (ws) => {
        ws.subscribe(TOPIC);
      },
    });
    const { port } = await listen(app, '127.0.0.1', 0, false);
    return { port };
  },

  async publish({ bytes, count }: Broadcast) {
    const messages = Array.from({ length: count }, (_, index) => messageText(payload(bytes), rev + index + 1));
    rev += count;
    // A turn of its own: not inside whatever called us.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    const before = usage();
    for (const message of messages) app.publish(TOPIC, message, false, deflates);
    return before;
  },

  usage,
} satisfies ServerApi;

answerParent<ServerApi>(api);
