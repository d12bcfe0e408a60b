/** Short loops of the matrix that `cli/loops.ts` plays at full length: vendors' clients, a real Worker, a strict provider. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { faultsOf, loopCases, type Matrix, openMatrix } from "../../../cli/loop/matrix.ts";

const rounds = 60;

const names = [
  "plain/openai-chat/stream/1",
  "plain/openai-responses/whole/4",
  "dense/openai-chat/stream/4",
  "unknown/openai-responses/stream/1",
  "unknown/anthropic/whole/4",
  "bound/anthropic/stream/4",
  "bound-manual/anthropic/whole/1",
];
const cases = names.map((name) => loopCases().find((one) => one.name === name)!);

let matrix: Matrix;

beforeAll(async () => {
  matrix = await openMatrix(cases);
}, 120_000);

afterAll(async () => matrix?.close(), 30_000);

describe("a loop that is many windows long", () => {
  for (const one of cases) {
    it(`[G51] ends with its answer and the client sees no error: ${one.name}`, async () => {
      const outcome = await matrix.play(one, rounds);
      expect(faultsOf(outcome)).toEqual([]);
      expect(outcome).toMatchObject({ finished: true, requests: rounds + 1, audit: true, branches: 1 });
      expect(outcome.generation).toBeGreaterThan(0);
      // What nobody told has to be learned by a refusal, once.
      if (one.variant === "unknown") expect(outcome.overflows).toBe(1);
    });
  }
});
