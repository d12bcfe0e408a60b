/**
 * Every failure that Plimsoll expects, as one tagged union.
 * Code throws a `Refusal`; the edge turns it into an RFC 9457 problem document. Anything else that is thrown is a defect (500).
 */
const statuses = {
  "bad-json": 400,
  "bad-request": 400,
  "bad-id": 400,
  "bad-message": 400,
  "too-deep": 400,
  "system-is-envelope": 400,
  "result-without-call": 400,
  "not-first": 400,
  unauthorized: 401,
  "not-found": 404,
  "unknown-session": 404,
  "unknown-branch": 404,
  "unknown-node": 404,
  "unknown-response": 404,
  "unknown-checkpoint": 404,
  "unknown-model": 404,
  "method-not-allowed": 405,
  "dialect-fixed": 409,
  "open-calls": 409,
  "late-result": 409,
  "stale-head": 409,
  "name-taken": 409,
  "no-step": 409,
  irreducible: 409,
  busy: 409,
  cancelled: 409,
  "surface-changed": 409,
  "nothing-to-undo": 409,
  "too-large": 413,
  "idempotency-mismatch": 422,
  commit: 500,
  persistence: 500,
  internal: 500,
  summary: 502,
  unreachable: 502,
  /** The provider refused a step of ours, or broke off. */
  upstream: 502,
  overloaded: 503,
  "not-configured": 503,
  timeout: 504,
} as const;

export type FailureCode = keyof typeof statuses;

/** A node that weighs on a request that cannot fit: what it is, its seq where it has one, its price in tokens. */
export interface Contributor {
  what: string;
  seq?: number;
  tokens: number;
}

export interface Failure {
  code: FailureCode;
  /** One sentence for a person. Never holds values that the client sent. */
  detail: string;
  /** Place of the fault as a JSON path, e.g. `messages[2].content[0]`. */
  at?: string;
  /** Further members of the problem document, each safe to show. */
  more?: Record<string, unknown>;
}

export class Refusal extends Error {
  readonly failure: Failure;

  /** @param rest its `cause` is for the operator alone: it is logged, and never shown. */
  constructor(
    code: FailureCode,
    detail: string,
    { cause, ...rest }: { at?: string; more?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(`${code}: ${detail}`, cause === undefined ? {} : { cause });
    this.name = "Refusal";
    this.failure = { code, detail, ...rest };
  }
}

export function statusOf(code: FailureCode): number {
  return statuses[code];
}

/** RFC 9457 problem document of a failure. */
export function problem(failure: Failure): Record<string, unknown> {
  return {
    type: `urn:plimsoll:problem:${failure.code}`,
    title: failure.code.replaceAll("-", " "),
    status: statusOf(failure.code),
    code: failure.code,
    detail: failure.detail,
    ...(failure.at === undefined ? {} : { at: failure.at }),
    ...failure.more,
  };
}

/** A broken invariant of our own: never caught as policy, answered as 500 `internal`. */
export class Defect extends Error {
  constructor(what: string) {
    super(what);
    this.name = "Defect";
  }
}

export function assertNever(value: never): never {
  throw new Defect(`unhandled case: ${JSON.stringify(value)}`);
}
