/**
 * Knows a request again by its bytes alone, before anything of it is read: the unchanged beginning of a list that a branch was sent before,
 * and the whole body of a request that is repeated. One pass over the bytes.
 */
import { createHash, type Hash } from "node:crypto";
import type { DialectName } from "../../dialects/dialect.ts";
import type { Core } from "../core.ts";
import { type Known, recentBranches } from "./match.ts";

export interface Recognized {
  /** The beginning that is unchanged: so many bytes, which hold `count` messages of the list. */
  known: (Known & { bytes: number }) | undefined;
  /** SHA-256 of the first so many bytes and of the whole body, hex. */
  digests(prefix: number): { prefix: string; body: string };
}

/** Branches whose last request is compared. */
const CANDIDATES = 8;

export function recognize(core: Core, dialect: DialectName, body: Uint8Array): Recognized {
  const pass = new Pass(body);
  const candidates = recentBranches(core, dialect)
    .slice(0, CANDIDATES)
    .flatMap(({ request }) => request?.prefix ?? [])
    .filter(({ bytes }) => bytes <= body.byteLength)
    .sort((a, b) => a.bytes - b.bytes);
  // The longest beginning that is the same; what a branch was sent last is mostly the longest of all.
  const known = candidates.filter(({ bytes, digest }) => pass.upTo(bytes) === digest).at(-1);
  return {
    known: known && { node: known.node, count: known.count, bytes: known.bytes },
    digests: (prefix) => ({ prefix: pass.upTo(prefix), body: pass.upTo(body.byteLength) }),
  };
}

/** Digests of ever longer beginnings, each byte hashed once. */
class Pass {
  private readonly body: Uint8Array;
  private hash: Hash = createHash("sha256");
  private at = 0;

  constructor(body: Uint8Array) {
    this.body = body;
  }

  upTo(end: number): string {
    if (end < this.at) return createHash("sha256").update(this.body.subarray(0, end)).digest("hex");
    this.hash.update(this.body.subarray(this.at, end));
    this.at = end;
    return this.hash.copy().digest("hex");
  }
}
