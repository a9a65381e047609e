/**
 * Bytes that code allocates: what the heap and the memory outside it (buffers) grow by, step by step. A step in which
 * a collection ran shows too little; so the figure is the median step, which few collections do not move. What native
 * code takes and frees within a step, such as zlib's own state, is not seen.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { spread } from './load/paired.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes that `step` allocates: the median of `steps` calls. Make a step small beside the young generation (16 MB). */
export function allocatedPerStep(steps: number, step: (index: number) => void): number {
  collect();
  const grown: number[] = [];
  for (let index = 0; index < steps; index++) {
    const before = usedBytes();
    step(index);
    grown.push(usedBytes() - before);
  }
  return spread(grown).median - usedByLooking();
}

function usedBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/** What looking itself allocates. */
function usedByLooking(): number {
  const grown = Array.from({ length: 31 }, () => {
    const before = usedBytes();
    return usedBytes() - before;
  });
  return spread(grown).median;
}
