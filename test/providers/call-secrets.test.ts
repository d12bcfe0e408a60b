import { describe, expect, it } from "vitest";
import type { Behaviour } from "../support/strict-provider.ts";
import { dialects, failure, KEY, trial } from "./trial.ts";

const each = it.each(dialects);

describe("secrets", () => {
  each(
    "[V18] never reach the detail of a refusal by %s, however the provider echoes them",
    async (dialect) => {
      const echoes = [
        `Incorrect API key provided: ${KEY}.`,
        `${"x".repeat(1_990)} ${KEY}`,
        `${" ".repeat(5_000)}${KEY}`,
        `bad key ${KEY.slice(0, 12)}********${KEY.slice(-4)}`,
        `authorization: Bearer ${KEY}`,
        `https://x.example/?key=${KEY}&a=b`,
        `other key sk-ant-api03-AbCdEf0123456789 and AKIAIOSFODNN7EXAMPLE0`,
      ];
      for (const message of echoes) {
        for (const body of [{ error: { type: "authentication_error", message } }, message]) {
          for (const will of [
            { do: "refuse", status: 401, body },
            { do: "error-event", after: "", error: { type: "error", error: { message } } },
          ] as const) {
            const { detail } = failure((await trial({ dialect, will: [will] })).result);
            expect(detail).not.toMatch(/0123456789|test-01|cdef|AbCdEf|AKIA/);
            expect(detail.length).toBeLessThan(400);
          }
        }
      }
    },
  );

  each("[V18] that look like any other word never reach it either (%s)", async (dialect) => {
    const key = "correct-horse";
    for (const message of [
      `no such key: ${key}`,
      `${"x".repeat(1_995)}${key}`,
      "authorization: Bearer horse",
    ]) {
      const will: Behaviour[] = [{ do: "refuse", status: 401, body: { error: { message } } }];
      const { detail } = failure((await trial({ dialect, key, will })).result);
      expect(detail).not.toMatch(/corre|horse/);
    }
  });

  each("[V18] a wrong key echoed whole by %s is not told", async (dialect) => {
    const { result } = await trial({ dialect, provider: { key: "another" } });
    expect(failure(result)).toMatchObject({ reason: "http", status: 401, retryable: false });
    expect(JSON.stringify(result)).not.toContain(KEY);
    expect(failure(result).detail).toContain("[secret]");
  });

  it("[V18] the provider's words are one short line without control characters", async () => {
    const message = `a\u0000b\r\n\u202Ec ${"word ".repeat(500)}`;
    const will: Behaviour[] = [{ do: "refuse", status: 400, body: { error: { message } } }];
    const { detail } = failure((await trial({ dialect: "anthropic", will })).result);
    expect(detail).toMatch(/^provider answered 400 \(refused\): a b c word word /);
    expect(detail).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(detail.length).toBeLessThan(400);
  });

  it("[V18] pages are not quoted", async () => {
    const will: Behaviour[] = [{ do: "refuse", status: 502, body: "<html><b>upstream 10.0.0.7</b></html>" }];
    const { detail } = failure((await trial({ dialect: "anthropic", will })).result);
    expect(detail).toBe("provider answered 502 (refused)");
  });
});
