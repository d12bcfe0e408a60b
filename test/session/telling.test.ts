import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Telling } from "../../src/session/outbound/telling.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("[W11] what is said goes out a few times a second, all of it, in order, and nothing for nothing", () => {
  const told: string[] = [];
  const telling = new Telling((text) => told.push(text));
  for (const word of ["a", "", "b", "c"]) telling.add(word);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(60);
  expect(told).toEqual(["abc"]);
  telling.add("d");
  telling.flush();
  expect(told).toEqual(["abc", "d"]);
  vi.advanceTimersByTime(1_000);
  telling.flush();
  expect(told).toEqual(["abc", "d"]);
});

it("[W11] much of it does not wait", () => {
  const told: string[] = [];
  const telling = new Telling((text) => told.push(text));
  telling.add("x".repeat(5_000));
  expect(told).toEqual(["x".repeat(5_000)]);
});
