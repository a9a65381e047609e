/**
 * Settings: each service declares its own as one table; flags, environment variables, help and validation come from it.
 * A flag wins over the environment, which wins over the default. All problems are reported at once, by name.
 */
import { z } from 'zod';

/** One setting. Its flag is the property's name in kebab case. */
export interface Setting<T> {
  /** Environment variable. */
  readonly env: string;
  /** One line, with the unit. */
  readonly help: string;
  /** Parses the text that came from the flag or the environment. */
  readonly parse: z.ZodType<T>;
  /** Used when neither flag nor environment gives it. */
  readonly fallback: T;
  /** Name of the value in help, for example "ms"; absent for switches. */
  readonly value?: string;
  /** The flag may be given several times: its values are joined with this, as the variable has them. */
  readonly separator?: string;
  /** May hold a secret: never shown, not even in a complaint about it. */
  readonly secret?: boolean;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;
export type Values<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  constructor(readonly problems: readonly string[]) {
    super(`configuration: ${problems.join('; ')}`);
  }
}

/** A whole number of `unit`, between `min` and `max`. */
export function whole(unit: string, min: number, max: number): z.ZodType<number> {
  const message = `must be a whole number of ${unit} from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d+$/u, message)
    .transform(Number)
    .refine((n) => n >= min && n <= max, message);
}

/** One of the given words. */
export function oneOf<const T extends readonly [string, ...string[]]>(words: T): z.ZodType<T[number]> {
  return z.enum(words, `must be one of ${words.join(', ')}`);
}

/** true, false, 1 or 0; a bare flag is true. */
export const toggle: z.ZodType<boolean> = z
  .enum(['true', 'false', '1', '0'], 'must be true or false')
  .transform((word) => word === 'true' || word === '1');

/** Any text that is not empty. */
export const text: z.ZodType<string> = z.string().min(1, 'must not be empty');

/** Any text, or nothing. */
export const optionalText: z.ZodType<string | undefined> = z.string().min(1, 'must not be empty').optional();

/** An address with one of the schemes. */
export function address(...schemes: string[]): z.ZodType<string> {
  const message = `must be an address that begins with ${schemes.map((s) => `${s}://`).join(' or ')}`;
  return z.string().refine((value) => {
    return URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1));
  }, message);
}

/** 'maxMessageBytes' -> 'max-message-bytes' */
export function flagName(property: string): string {
  return property.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * The values of `settings` from flags (by property name) and environment.
 * Throws SettingsError with every problem, each named by the flag and the variable.
 */
export function readSettings<S extends Settings>(
  settings: S,
  flags: Readonly<Record<string, string | boolean | undefined>>,
  env: Readonly<Record<string, string | undefined>>,
): Values<S> {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [property, setting] of Object.entries(settings)) {
    const given = flags[property] ?? env[setting.env];
    if (given === undefined) {
      values[property] = setting.fallback;
      continue;
    }
    const from = flags[property] === undefined ? setting.env : `--${flagName(property)}`;
    const parsed = setting.parse.safeParse(String(given));
    if (parsed.success) values[property] = parsed.data;
    else
      problems.push(
        `${from} ${parsed.error.issues[0]?.message ?? 'is not valid'} ${setting.secret === true ? '(the value is not shown)' : `(got ${JSON.stringify(given)})`}`,
      );
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return values as Values<S>;
}
