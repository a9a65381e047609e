import { expect, it } from 'vitest';
import { etherpadProblems, etherpadSettings } from '../../services/producer/sources/etherpad-settings.js';
import { readSettings } from '../../services/shared/settings.js';

const URL = 'http://user:pa55word@pads.example:9001/under';

function read(env: Readonly<Record<string, string>>): ReturnType<typeof readSettings<typeof etherpadSettings>> {
  return readSettings(etherpadSettings, {}, env);
}

it('[X12] pads are published to pad:NAME, or to the room that is named', () => {
  const { etherpadPads } = read({ ETHERPAD_URL: URL, ETHERPAD_PADS: 'notes,r.5f3a=minutes,a=b=doc' });
  expect(etherpadPads).toEqual([
    { pad: 'notes', room: 'pad:notes' },
    { pad: 'r.5f3a', room: 'minutes' },
    { pad: 'a=b', room: 'doc' },
  ]);
});

it.each([
  ['an empty pad', 'notes,,more'],
  ['a pad without a name', '=room'],
  ['a room that is none', 'notes='],
  ['a room twice', 'notes,other=pad:notes'],
])('[X12] %s is told', (_name, pads) => {
  expect(() => read({ ETHERPAD_URL: URL, ETHERPAD_PADS: pads })).toThrow(/ETHERPAD_PADS must/u);
});

it('[X12] a server without pads, and pads without a server, are told', () => {
  expect(etherpadProblems(read({ ETHERPAD_URL: URL }))).toHaveLength(1);
  expect(etherpadProblems(read({ ETHERPAD_PADS: 'notes' }))).toHaveLength(1);
  expect(etherpadProblems(read({ ETHERPAD_URL: URL, ETHERPAD_PADS: 'notes' }))).toEqual([]);
  expect(etherpadProblems(read({}))).toEqual([]);
});

it('[X11] an address that is wrong is not shown', () => {
  expect(() => read({ ETHERPAD_URL: `${URL}?token=pa55word` })).toThrow(/ETHERPAD_URL must not have a query/u);
  expect(() => read({ ETHERPAD_URL: `${URL}?token=pa55word` })).not.toThrow(/pa55word/u);
});
