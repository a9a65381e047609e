/** The checker must find what it is there to find: each fault put in on purpose is reported as what it is. */
import { expect, test } from 'vitest';
import { Checker, type LogCopy, type Problem, type Seen } from '../load/checker.js';

const ROOM = 'doc';
const LOG: readonly Seen[] = Array.from({ length: 20 }, (_, i) => ({
  rev: i + 1,
  tag: 'aaaaaaaa',
  time: 1_000 + i,
  data: `{"n":${i}}`,
}));
const COPY: LogCopy = { epoch: 'e', revisions: LOG };

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
  checker.verify(ROOM, COPY);
  expect(checker.problemCount).toBe(checker.problems.length);
  return checker.problems;
}

const without = (log: Seen[], rev: number) => log.filter((seen) => seen.rev !== rev);
const altered = (rev: number, how: Partial<Seen>) => (log: readonly Seen[]) =>
  log.map((seen) => (seen.rev === rev ? { ...seen, ...how } : seen));

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

test.each([
  ['one byte of data', { data: '{"n":7}' }],
  ['a tag', { tag: 'bbbbbbbb' }],
  ['a time', { time: 1_007 }],
])('[T1] %s that one client was given altered is found against the others, and against the log', (_, how) => {
  expect(check(altered(7, how))).toMatchObject([
    { kind: 'altered', client: 'tampered', rev: 7 },
    { kind: 'altered', client: 'tampered', rev: 20 },
  ]);
});

test('[T1] a revision that all clients were given altered is found against the log', () => {
  const checker = new Checker();
  checker.began('a', ROOM, 'e', 0);
  for (const seen of altered(3, { tag: 'bbbbbbbb' })(LOG)) checker.saw('a', ROOM, seen);
  checker.verify(ROOM, COPY);
  expect(checker.problems).toMatchObject([
    { kind: 'altered', client: 'everyone', rev: 3 },
    { kind: 'altered', client: 'a', rev: 20 },
  ]);
});

/** What is wrong with a client that begins after this revision and is given what follows it. */
function checkFrom(rev: number, given: readonly Seen[]): Problem[] {
  const checker = new Checker();
  checker.began('a', ROOM, 'e', rev);
  for (const seen of given.slice(rev)) checker.saw('a', ROOM, seen);
  checker.verify(ROOM, COPY);
  return checker.problems;
}

test('[T1] a client that began later is held against what follows its beginning', () => {
  expect(checkFrom(12, LOG)).toEqual([]);
  expect(checkFrom(12, altered(5, { data: '0' })(LOG))).toEqual([]);
  expect(checkFrom(12, altered(15, { data: '0' })(LOG))).toHaveLength(2);
});

test('[T1] going on in another epoch, or from another place, is found', () => {
  const checker = new Checker();
  checker.began('a', ROOM, 'e', 0);
  for (const seen of LOG.slice(0, 5)) checker.saw('a', ROOM, seen);
  checker.began('a', ROOM, 'f', 5);
  checker.began('a', ROOM, 'f', 9);
  expect(checker.problems.map(({ kind }) => kind)).toEqual(['epoch', 'disorder']);
});

test('[T1] a client that stands in another epoch than the log, or is given a revision of one, is found', () => {
  const checker = new Checker();
  checker.began('a', ROOM, 'f', 0);
  for (const seen of LOG) checker.saw('a', ROOM, seen);
  checker.verify(ROOM, COPY);
  expect(checker.problems).toMatchObject([{ kind: 'epoch', client: 'a', rev: 20 }]);
  checker.began('b', ROOM, 'e', 0);
  checker.saw('b', ROOM, LOG[0] as Seen, 'g');
  expect(checker.problems[1]).toMatchObject({ kind: 'epoch', client: 'b', rev: 1 });
});

test('[T1] a client that was told of a new history begins anew; what it had of the old one still counts', () => {
  const checker = new Checker();
  for (const client of ['a', 'b']) checker.began(client, ROOM, 'old', 0);
  for (const seen of LOG.slice(0, 5)) checker.saw('a', ROOM, seen);
  checker.broke('a', ROOM);
  checker.began('a', ROOM, '', 0);
  for (const seen of altered(1, { data: '"new"' })(LOG)) checker.saw('a', ROOM, seen, seen.rev === 1 ? 'e' : undefined);
  checker.verify(ROOM, { epoch: 'e', revisions: altered(1, { data: '"new"' })(LOG) });
  expect(checker.problems.map(({ client }) => client)).toEqual(['b', 'b']);
  // Two clients disagree about a revision of the old history.
  checker.saw('b', ROOM, { ...(LOG[0] as Seen), data: '"other"' });
  expect(checker.problems[2]).toMatchObject({ kind: 'altered', client: 'b', rev: 1 });
});

test('[T1] a time that goes back is found', () => {
  expect(check(altered(7, { time: 999 }))[0]).toMatchObject({ kind: 'time', client: 'tampered', rev: 7 });
});

test('[T1] it tells how long each client was away, and how far behind what was acknowledged', () => {
  let now = 0;
  const checker = new Checker(() => now);
  for (const client of ['a', 'b']) checker.began(client, ROOM, 'e', 0);
  checker.saw('b', ROOM, LOG[0] as Seen);
  checker.left('a');
  now = 100;
  checker.committed(ROOM, 'e', 1);
  now = 700;
  checker.returned('a');
  now = 900;
  checker.saw('a', ROOM, LOG[0] as Seen);
  expect(checker.absenceOf('a')).toEqual({ awayMs: 700, behindMs: 800 });
  expect(checker.absenceOf('b')).toEqual({ awayMs: 0, behindMs: 0 });
  checker.left('b');
  now = 2_000;
  expect(checker.longestAbsence()).toEqual({ awayMs: 1_100, behindMs: 800 });
});

test('[T1] what was lost is found where a client is given it after it was told, and only there', () => {
  const since = LOG.map((seen) => (seen.rev > 10 ? { ...seen, tag: 'bbbbbbbb' } : seen));
  const problemsOf = (given: readonly Seen[]): Problem[] => {
    const checker = new Checker();
    for (const client of ['one', 'two']) {
      checker.began(client, ROOM, 'e', 0);
      for (const seen of LOG) checker.saw(client, ROOM, seen);
    }
    checker.lost(ROOM);
    for (const [client, revisions] of [
      ['one', since],
      ['two', given],
    ] as const) {
      checker.broke(client, ROOM);
      checker.began(client, ROOM, 'e', 0);
      for (const seen of revisions) checker.saw(client, ROOM, seen);
    }
    checker.verify(ROOM, { epoch: 'e', revisions: since });
    return checker.problems;
  };
  expect(problemsOf(since)).toEqual([]);
  expect(problemsOf(altered(15, { tag: 'aaaaaaaa' })(since))[0]).toMatchObject({
    kind: 'altered',
    client: 'two',
    rev: 15,
  });
});
