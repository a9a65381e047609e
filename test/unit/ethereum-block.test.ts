import { describe, expect, it } from 'vitest';
import { blockData, parseNodeBlock, parsePublishedBlock } from '../../services/producer/sources/ethereum-block.js';
import { ethereumSettings } from '../../services/producer/sources/ethereum-settings.js';
import { NodeError } from '../../services/producer/sources/json-rpc.js';
import { readSettings, SettingsError } from '../../services/shared/settings.js';

const hash = (digit: string) => `0x${digit.repeat(64)}`;
const answer = {
  number: '0x1406f40',
  hash: hash('A'),
  parentHash: hash('b'),
  timestamp: '0x6749eba8',
  transactions: [hash('1'), hash('2'), hash('3')],
  gasUsed: '0xbc614e',
  gasLimit: '0x1c9c380',
  baseFeePerGas: '0x1e4317f3b',
  blobGasUsed: '0x60000',
  withdrawals: [{}, {}],
  size: '0x12b7f',
  miner: '0x95222290DD7278Aa3Ddd389Cc1E1d165CC4BAfe5',
  logsBloom: '0x00',
};
const published = (data: Uint8Array) => JSON.parse(Buffer.from(data).toString()) as unknown;

describe('published data', () => {
  it('[E1] is the block’s summary: quantities as numbers, hashes in lower case, lists as counts', () => {
    expect(Buffer.from(blockData(parseNodeBlock(answer), {})).toString()).toBe(
      `{"height":21000000,"hash":"${hash('a')}","parentHash":"${hash('b')}","timestamp":1732897704,"transactions":3,` +
        '"gasUsed":12345678,"gasLimit":30000000,"baseFeePerGas":8123416379,"blobGasUsed":393216,"withdrawals":2,' +
        '"size":76671,"miner":"0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5"}',
    );
  });

  it('[E1] a quantity that no JSON number holds exactly is a string of decimal digits', () => {
    const block = parseNodeBlock({ ...answer, baseFeePerGas: '0x20000000000000', gasUsed: '0x1fffffffffffff' });
    expect(published(blockData(block, {}))).toMatchObject({
      baseFeePerGas: '9007199254740992',
      gasUsed: 9_007_199_254_740_991,
    });
  });

  it('[E1] what a chain does not have is left out', () => {
    const { number, parentHash, timestamp, gasUsed } = answer;
    const block = parseNodeBlock({
      number,
      hash: hash('c'),
      parentHash,
      timestamp,
      gasUsed,
      transactions: [],
      baseFeePerGas: null,
      miner: null,
    });
    expect(Object.keys(published(blockData(block, {})) as object)).toEqual([
      'height',
      'hash',
      'parentHash',
      'timestamp',
      'transactions',
      'gasUsed',
    ]);
  });

  it('[E3] tells what the block replaces, where its branch begins and what was left out', () => {
    const notes = {
      replaces: hash('d'),
      reorg: { depth: 1, forkHeight: 20_999_999, forkHash: hash('b') },
      skipped: { from: 1, to: 2 },
    };
    expect(published(blockData(parseNodeBlock(answer), notes))).toMatchObject(notes);
  });
});

it.each([
  ['null', null],
  ['a list', []],
  ['no hash', { ...answer, hash: undefined }],
  ['a pending block', { ...answer, hash: null, number: null }],
  ['a height above every safe number', { ...answer, number: '0xffffffffffffff' }],
  ['a quantity without digits', { ...answer, gasUsed: '0x' }],
  ['a decimal quantity', { ...answer, timestamp: '12' }],
  ['transactions that are no list', { ...answer, transactions: {} }],
])('[E9] an answer with %s is refused, and names what is wrong', (_name, bad) => {
  expect(() => parseNodeBlock(bad)).toThrow(NodeError);
  expect(() => parseNodeBlock(bad)).toThrow(/^the node answered what is not a block: (the answer|"\w+") /u);
});

describe('reading back', () => {
  it('[E4] finds the published block again', () => {
    expect(parsePublishedBlock(blockData(parseNodeBlock(answer), {}))).toEqual({
      height: 21_000_000,
      hash: hash('a'),
    });
  });

  it('[E11] finds that a branch begins anew', () => {
    const reorg = { depth: null, forkHeight: null, forkHash: null };
    expect(parsePublishedBlock(blockData(parseNodeBlock(answer), { reorg }))?.forkHeight).toBeNull();
  });

  it.each(['null', '"text"', '{"height":1}', '{"height":-1,"hash":"0x12"}', '{', ''])(
    '[E4] takes %s for no block',
    (text) => {
      expect(parsePublishedBlock(Buffer.from(text))).toBeNull();
    },
  );
});

describe('settings', () => {
  it('[C1] wrong values are all told, each by its name', () => {
    const flags = {
      ethereumUrl: 'http://node',
      ethereumRoom: '',
      ethereumStart: 'newest',
      ethereumMaxBackfill: '0',
    };
    const error = (() => {
      try {
        return readSettings(ethereumSettings, flags, { ETHEREUM_POLL_MS: 'x' });
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(SettingsError);
    const names = [
      '--ethereum-url',
      '--ethereum-room',
      '--ethereum-start',
      '--ethereum-max-backfill',
      'ETHEREUM_POLL_MS',
    ];
    const { problems } = error as SettingsError;
    expect(problems).toHaveLength(names.length);
    for (const name of names) expect(problems.some((problem) => problem.startsWith(name))).toBe(true);
  });

  it('[C1] a start is "latest" or a height', () => {
    const starts = ['latest', '0', '21000000'].map(
      (text) => readSettings(ethereumSettings, { ethereumStart: text }, {}).ethereumStart,
    );
    expect(starts).toEqual(['latest', 0, 21_000_000]);
  });
});
