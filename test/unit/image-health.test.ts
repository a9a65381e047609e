/** Which address the image's health check asks, from process 1's command line and the environment. */
import { describe, expect, test } from 'vitest';

const MODULE = new URL('../../deploy/image/health.mjs', import.meta.url).href;
const { healthAddress } = (await import(MODULE)) as {
  readonly healthAddress: (words: readonly string[], env: Readonly<Record<string, string>>) => string | undefined;
};

function asked(words: string, env: Readonly<Record<string, string>> = {}): string | undefined {
  // As /proc/1/cmdline has it: a zero after each word, the last one too.
  return healthAddress(`node /app/dist/services/cli/main.js ${words} `.split(' '), env);
}

describe('[I2] the health check of the image asks', () => {
  test.each([
    ['edge', 'http://127.0.0.1:8080/healthz'],
    ['producer', 'http://127.0.0.1:8081/healthz'],
    ['revision', 'http://127.0.0.1:8082/healthz'],
    ['dev', 'http://127.0.0.1:8080/healthz'],
    ['edge --edge-port 8090', 'http://127.0.0.1:8090/healthz'],
    ['edge --edge-port=8090', 'http://127.0.0.1:8090/healthz'],
    ['edge --edge-port=8090 --edge-port 8091', 'http://127.0.0.1:8091/healthz'],
    ['edge --edge-host 127.0.0.2', 'http://127.0.0.2:8080/healthz'],
    ['producer --producer-host=10.1.2.3 --edge-port 1', 'http://10.1.2.3:8081/healthz'],
    ['edge --edge-host 0.0.0.0', 'http://127.0.0.1:8080/healthz'],
    ['edge --edge-host ::', 'http://[::1]:8080/healthz'],
    ['edge --edge-host [::]', 'http://[::1]:8080/healthz'],
    ['edge --edge-host fd00::7', 'http://[fd00::7]:8080/healthz'],
  ])('of `%s` %s', (words, address) => {
    expect(asked(words)).toBe(address);
  });

  test('where the variables say, unless a flag says otherwise; an empty variable is not set', () => {
    const env = { EDGE_HOST: '0.0.0.0', EDGE_PORT: '9000', PRODUCER_PORT: '9001' };
    expect(asked('edge', env)).toBe('http://127.0.0.1:9000/healthz');
    expect(asked('dev', env)).toBe('http://127.0.0.1:9000/healthz');
    expect(asked('edge --edge-port 9002 --edge-host 127.0.0.2', env)).toBe('http://127.0.0.2:9002/healthz');
    expect(asked('edge', { EDGE_HOST: '', EDGE_PORT: '' })).toBe('http://127.0.0.1:8080/healthz');
  });

  test('nothing of a command that does not serve, whatever its operands are', () => {
    expect(asked('tail producer')).toBeUndefined();
    expect(asked('publish edge revision')).toBeUndefined();
    expect(asked('gc --nats nats://edge:4222')).toBeUndefined();
    expect(asked('')).toBeUndefined();
    expect(healthAddress(['sh', '-c', 'sleep 1', ''], {})).toBeUndefined();
  });
});
