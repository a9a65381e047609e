/** An edge in a process of its own, for tests of what it holds in memory. The parent asks over the IPC channel. */
import { TestEdge } from './edge.js';

export type Question =
  | { readonly ask: 'append'; readonly room: string; readonly text: string }
  | { readonly ask: 'memory' }
  | { readonly ask: 'stop' };

export interface Reply {
  readonly port: number;
  /** Resident bytes after a garbage collection. */
  readonly residentBytes: number;
  readonly counters: ReturnType<TestEdge['edge']['counters']>;
}

const edge = await TestEdge.start({ settings: { ringKeepRevisions: 0, pageCacheBytes: 0, maxSockets: 5_000 } });

function reply(): void {
  for (let i = 0; i < 3; i += 1) globalThis.gc?.();
  const { rss } = process.memoryUsage();
  const answer: Reply = { port: edge.port, residentBytes: rss, counters: edge.edge.counters() };
  process.send?.(answer);
}

async function answer(question: Question): Promise<void> {
  if (question.ask === 'stop') {
    await edge.stop();
    process.disconnect();
    return;
  }
  if (question.ask === 'append') await edge.append(question.room, question.text);
  reply();
}

process.on('message', (question: Question) => {
  answer(question).catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
    process.disconnect();
  });
});
reply();
