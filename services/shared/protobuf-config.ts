/**
 * Configures protobufjs once, before any generated module loads (they read their defaults then): without a Long class
 * it reads and writes 64-bit integers as numbers. Every one that revcast stores (rev, seq, time) is below 2^53.
 */
import { configure, util } from 'protobufjs/minimal.js';

(util as { Long: unknown }).Long = undefined;
configure();
