#!/usr/bin/env node
/** `revcast`: first whoever minds signals, then the program, which takes a while to load. */
import './signals.js';

await import('./process.js');
