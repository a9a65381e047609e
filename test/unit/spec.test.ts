/** SPEC.md and the tests hold each other: every rule has a test, every test that names a rule names one that exists. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ERROR_STATUS, RevcastError, type ErrorCode } from '../../services/shared/errors.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const spec = readFileSync(`${ROOT}/SPEC.md`, 'utf8');
const rules = new Set([...spec.matchAll(/^- \*\*\[([A-Z]\d+)\]\*\*/gmu)].map((match) => match[1]));

function namedByTests(): Set<string | undefined> {
  const files = readdirSync(`${ROOT}/test`, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const ids = files.flatMap((file) => {
    const source = readFileSync(`${ROOT}/test/${file}`, 'utf8');
    const titles = source.match(/\b(?:test|it|describe|suite)(?:\.\w+(?:\([^)]*\))?)*\(\s*[`'"]\[[^\n]*/gu) ?? [];
    return titles.flatMap((title) => [...title.matchAll(/\[([A-Z]\d+)\]/gu)].map((match) => match[1]));
  });
  return new Set(ids);
}

function byName(a: unknown[], b: unknown[]): number {
  return String(a[0]).localeCompare(String(b[0]));
}

describe('SPEC.md', () => {
  test('[T2] has a test for every rule', () => {
    const tested = namedByTests();
    expect([...rules].filter((rule) => !tested.has(rule))).toEqual([]);
  });

  test('[T2] has every rule that a test names', () => {
    expect([...namedByTests()].filter((rule) => !rules.has(rule))).toEqual([]);
  });

  test('[T2] lists every error code with its status, and whether it may pass', () => {
    const rows = [...spec.matchAll(/^\| `(\w+)` \| (\d+) \| (yes|no) \|/gmu)].map(([, code, status, passes]) => [
      code,
      Number(status),
      passes === 'yes',
    ]);
    const codes = Object.entries(ERROR_STATUS).map(([code, status]) => [
      code,
      status,
      new RevcastError(code as ErrorCode, '').retryable,
    ]);
    expect(rows.sort(byName)).toEqual(codes.sort(byName));
  });
});
