/** What the stages of the tests count from vitest's reports. */
import { describe, expect, test } from 'vitest';
import { countsLine, countStage, readReport, sum } from '../check/counts.js';

const file = (status: string, ...results: string[]) => ({
  name: 'a.test.ts',
  status,
  assertionResults: results.map((result) => ({ status: result })),
});

describe('counts', () => {
  test('[T4] are of tests, and say what was skipped', () => {
    const report = { testResults: [file('passed', 'passed', 'passed', 'skipped'), file('failed', 'passed', 'failed')] };
    const counts = countStage(report, 1);
    expect(counts).toEqual({ passed: 3, failed: 1, skipped: 1 });
    expect(countsLine(sum([counts, counts]))).toBe('6 passed, 2 failed');
  });

  test('[T4] have one failure for a file that could not be loaded, and for a run that failed outside of its tests', () => {
    expect(countStage({ testResults: [file('failed')] }, 1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(countStage({ testResults: [file('passed', 'passed')] }, 1)).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  test('[T4] have one failure for a run that left no report', () => {
    expect(readReport('/nowhere/report.json')).toBeUndefined();
    expect(countStage(undefined, 1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });
});
