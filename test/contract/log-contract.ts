/** The contract of the log, which both adapters are held to: rules L1 to L12 and L14 of SPEC.md. */
import { afterAll, beforeAll, describe } from 'vitest';
import { describeAppends } from './appends.js';
import { describeFollow } from './follow.js';
import type { LogHarness } from './harness.js';
import { describeKeys } from './keys.js';
import { describeLostAnswers } from './lost-answers.js';
import { describeReads } from './reads.js';
import { describeSnapshots } from './snapshots.js';
import { describeWhole } from './whole.js';

export function describeLogContract(name: string, start: () => Promise<LogHarness>): void {
  describe(`the ${name} log`, () => {
    let started: LogHarness | undefined;
    const harness = (): LogHarness => {
      if (started === undefined) throw new Error('the harness has not started');
      return started;
    };

    beforeAll(async () => {
      started = await start();
    });

    afterAll(async () => {
      await started?.dispose();
    });

    describeAppends(harness);
    describeLostAnswers(harness);
    describeKeys(harness);
    describeFollow(harness);
    describeReads(harness);
    describeSnapshots(harness);
    describeWhole(harness);
  });
}
