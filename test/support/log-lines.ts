/** A logger that keeps its lines, for tests of what is said and how often. */
import { Writable } from 'node:stream';
import { pino } from 'pino';
import type { Logger } from '../../services/shared/logger.js';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly code?: string;
  readonly reason?: string;
}

export class LogLines {
  readonly lines: LogLine[] = [];
  readonly logger: Logger;

  constructor() {
    const keep = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.lines.push(JSON.parse(chunk.toString()) as LogLine);
        done();
      },
    });
    this.logger = pino({ level: 'info' }, keep);
  }

  /** The lines whose message or code contains `text`. */
  about(text: string): LogLine[] {
    return this.lines.filter(({ msg, code }) => msg.includes(text) || code?.includes(text));
  }
}
