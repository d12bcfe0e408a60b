/** Cases of overflows: one row per wording. */
import { expect, it } from "vitest";
import { classifyRefusal, type Overflow, type Refused } from "../../src/providers/overflow.ts";

type Expected = Omit<Overflow, "kind">;
export type OverflowRow = [what: string, refused: Refused, expected: Expected];

export const at400 = (body: unknown): Refused => ({ status: 400, body });
/** Limit, and what was counted: all of it input. */
export const full = (limit: number, input: number): Expected => ({
  limit,
  tokens: input,
  inputTokens: input,
});
/** The same where the limit is one of the input alone. */
export const input = (limit: number, tokens: number): Expected => ({
  ...full(limit, tokens),
  inputOnly: true,
});

export function overflowCases(rows: OverflowRow[]): void {
  it.each(rows)("[O1] an overflow: %s", (_, refused, expected) => {
    expect(classifyRefusal(refused)).toEqual({ kind: "overflow", ...expected });
  });

  it.each(rows)("[O2] the same in an echo of what somebody wrote is none: %s", (_, { body }) => {
    const words =
      body instanceof Error ? body.message : typeof body === "string" ? body : JSON.stringify(body);
    const echo = { error: { message: `Invalid value for messages[3].content: ${words}` } };
    expect(classifyRefusal({ status: 400, body: echo })).toMatchObject({ kind: "other" });
  });
}
