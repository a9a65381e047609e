/** The commands, in the order of the help. */
import type { Command } from './command.js';
import { dev } from './dev.js';
import { edge } from './edge.js';
import { gc } from './gc.js';
import { producer } from './producer.js';
import { publish } from './publish.js';
import { revision } from './revision.js';
import { setup } from './setup.js';
import { tail } from './tail.js';

export const COMMANDS: readonly Command[] = [dev, producer, revision, edge, publish, tail, setup, gc];
