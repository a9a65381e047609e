/** The checker must find what it is there to find: each fault put in on purpose is reported as what it is. */
import { expect, test } from 'vitest';
import { Checker, type Problem, type Seen } from '../load/checker.js';

const ROOM = 'doc';
const LOG: readonly Seen[] = Array.from({ length: 20 }, (_, i) => ({
  rev: i + 1,
  tag: 'aaaaaaaa',
  data: `{"n":${i}}`,
}));

/** What two clients make of the log: one is given it as it is, the other what `tamper` makes of it. */
function check(tamper: (log: Seen[]) => Seen[]): Problem[] {
  const checker = new Checker();
  for (const [client, given] of [
    ['honest', [...LOG]],
    ['tampered', tamper([...LOG])],
  ] as const) {
    checker.began(client, ROOM, 'e', 0);
    for (const seen of given) checker.saw(client, ROOM, seen);
  }
  checker.verify(ROOM, LOG);
  expect(checker.problemCount).toBe(checker.problems.length);
  return checker.problems;
}

const without = (log: Seen[], rev: number) => log.filter((seen) => seen.rev !== rev);

test('[T1] a sequence that is the log is no problem', () => {
  expect(check((log) => log)).toEqual([]);
});

test('[T1] one dropped revision is found', () => {
  expect(check((log) => without(log, 7))[0]).toMatchObject({ kind: 'hole', client: 'tampered', rev: 8 });
});

test('[T1] the last revision dropped is found', () => {
  expect(check((log) => without(log, 20))).toMatchObject([{ kind: 'missing', client: 'tampered', rev: 20 }]);
});

test('[T1] one repeated revision is found', () => {
  const problems = check((log) => log.flatMap((seen) => (seen.rev === 7 ? [seen, seen] : [seen])));
  expect(problems[0]).toMatchObject({ kind: 'repeat', client: 'tampered', rev: 7 });
});

test('[T1] two swapped revisions are found', () => {
  const problems = check((log) => {
    const [a, b] = [log[6], log[7]];
    if (a !== undefined && b !== undefined) log.splice(6, 2, b, a);
    return log;
  });
  expect(problems.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['hole', 'disorder']));
});

test('[T1] one altered byte is found', () => {
  const problems = check((log) => log.map((seen) => (seen.rev === 7 ? { ...seen, data: '{"n":7}' } : seen)));
  expect(problems).toMatchObject([{ kind: 'altered', client: 'tampered', rev: 7 }]);
});

test('[T1] a revision that all clients were given altered is found against the log', () => {
  const checker = new Checker();
  checker.began('a', ROOM, 'e', 0);
  for (const seen of LOG) checker.saw('a', ROOM, seen.rev === 3 ? { ...seen, tag: 'bbbbbbbb' } : seen);
  checker.verify(ROOM, LOG);
  expect(checker.problems).toMatchObject([{ kind: 'altered', client: 'everyone', rev: 3 }]);
});

test('[T1] going on in another epoch, or from another place, is found', () => {
  const checker = new Checker();
  checker.began('a', ROOM, 'e', 0);
  for (const seen of LOG.slice(0, 5)) checker.saw('a', ROOM, seen);
  checker.began('a', ROOM, 'f', 5);
  checker.began('a', ROOM, 'f', 9);
  expect(checker.problems.map(({ kind }) => kind)).toEqual(['epoch', 'disorder']);
});
