import { expect, it } from 'vitest';
import { natsSettings } from '../../services/log/settings.js';
import { ethereumSettings } from '../../services/producer/sources/ethereum-settings.js';
import { readSettings } from '../../services/shared/settings.js';

it('[C2] a value that may hold a secret is not shown when it is wrong', () => {
  const env = { NATS_URL: 'http://user:pa55word@host', ETHEREUM_URL: 'ftp://host/pa55word' };
  let message = '';
  try {
    readSettings({ ...natsSettings, ...ethereumSettings }, {}, env);
  } catch (error) {
    message = String(error);
  }
  expect(message).toContain('NATS_URL');
  expect(message).toContain('ETHEREUM_URL');
  expect(message).not.toContain('pa55word');
});
