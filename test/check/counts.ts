/** Counts of a stage, from the JSON report that vitest has written. */
import { readFileSync } from 'node:fs';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The part of vitest's JSON report that is read. */
export interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

export const NOTHING: Counts = { passed: 0, failed: 0, skipped: 0 };

export function sum(all: readonly Counts[]): Counts {
  return all.reduce(
    (total, { passed, failed, skipped }) => ({
      passed: total.passed + passed,
      failed: total.failed + failed,
      skipped: total.skipped + skipped,
    }),
    NOTHING,
  );
}

/**
 * A file that could not be loaded has no tests, and counts as one failure. So does a run that failed although none of
 * its tests did: an error outside of a test is not in the report, and without a report nothing can be said to have passed.
 */
export function countStage(report: VitestReport | undefined, exitCode: number): Counts {
  const counts = sum((report?.testResults ?? []).map(countFile));
  return exitCode !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

/** undefined where there is no such report, or it cannot be read. */
export function readReport(file: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
  } catch {
    return undefined;
  }
}

export function countsLine({ passed, failed }: Counts): string {
  return `${passed} passed, ${failed} failed`;
}

function countFile({ status, assertionResults }: VitestReport['testResults'][number]): Counts {
  const count = (wanted: string) => assertionResults.filter((result) => result.status === wanted).length;
  const passed = count('passed');
  const failed = count('failed');
  const skipped = assertionResults.length - passed - failed;
  return { passed, failed: status === 'failed' && failed === 0 ? 1 : failed, skipped };
}
