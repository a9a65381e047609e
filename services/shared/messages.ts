/** The messages of proto/, as generated, with 64-bit integers as numbers. The order of the two lines matters. */
import './protobuf-config.js';
export { revcast as messages } from './gen/messages.js';
