/** Answers by `Idempotency-Key`: operational, not part of the log, forgotten after 24 hours. */
import type { Sql } from "./migrations.ts";

const KEPT_MS = 24 * 60 * 60 * 1000;

export interface Answered {
  /** Digest of the request that the answer belongs to. */
  digest: string;
  answer: unknown;
}

export interface Idempotency {
  get(key: string, now: number): Answered | undefined;
  /** To be called inside the transaction whose outcome it remembers. */
  put(key: string, digest: string, answer: unknown, now: number): void;
  purge(now: number): void;
}

export function createIdempotency(sql: Sql): Idempotency {
  return {
    get(key, now) {
      const query = "SELECT digest, answer FROM idem WHERE key = ? AND at > ?";
      for (const row of sql.exec<{ digest: string; answer: string }>(query, key, now - KEPT_MS)) {
        return { digest: row.digest, answer: JSON.parse(row.answer) as unknown };
      }
      return undefined;
    },
    put(key, digest, answer, now) {
      const query = "INSERT OR REPLACE INTO idem (key, digest, answer, at) VALUES (?,?,?,?)";
      for (const _ of sql.exec(query, key, digest, JSON.stringify(answer), now));
    },
    purge(now) {
      for (const _ of sql.exec("DELETE FROM idem WHERE at <= ?", now - KEPT_MS));
    },
  };
}
