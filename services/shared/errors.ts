/**
 * The errors that a user of revcast can meet. Each has a stable code (SPEC.md, "Error codes"), says whether the same
 * request may succeed later, and carries what the answer needs in `details`. A broken invariant is not one of these:
 * it is an assertion, and crashes.
 */

/** Stable error codes, each with the HTTP status that it answers with. */
export const ERROR_STATUS = {
  invalid_request: 400,
  invalid_json: 400,
  invalid_room: 400,
  unknown_method: 400,
  binary_unsupported: 400,
  already_subscribed: 400,
  not_subscribed: 400,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  snapshot_above_head: 409,
  snapshot_outdated: 409,
  epoch_changed: 410,
  history_truncated: 410,
  too_large: 413,
  unsupported_media_type: 415,
  not_a_pad: 422,
  too_many_rooms: 429,
  headers_too_large: 431,
  overloaded: 503,
  log_unavailable: 503,
  log_full: 503,
  outcome_unknown: 503,
  shutting_down: 503,
  internal: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  'overloaded',
  'log_unavailable',
  'log_full',
  'outcome_unknown',
  'shutting_down',
]);

export class RevcastError extends Error {
  override readonly name = 'RevcastError';
  readonly code: ErrorCode;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** What the answer tells beside code and message, for example the head with `conflict`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = RETRYABLE.has(code);
    this.details = options.details ?? {};
  }

  get httpStatus(): number {
    return ERROR_STATUS[this.code];
  }
}

/** What was thrown, as an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Crashes with `message` unless `condition` holds: for invariants, never for input. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}
