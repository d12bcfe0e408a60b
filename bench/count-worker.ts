/** Counts generated text inside workerd and says how long it took. Local workerd lets the clock run during CPU work. */
import { type Count, createCounter } from "../src/meter/counter.ts";
import vocabulary from "../src/meter/o200k_base.bin";
import { createMeter } from "../src/meter/price.ts";
import { textOf } from "./count-texts.ts";

export interface Counted {
  kind: string;
  units: number;
  bytes: number;
  tokens: number;
  /** Milliseconds of one pass: the best mean of four rounds, because other work on the machine only ever adds. */
  ms: number;
  /** What the meter says, which samples texts over 256 KiB. */
  priced: number;
}

let counter: Count | undefined;

/** The first build in this isolate is the cold one. */
function build(): { ms: number } {
  const from = performance.now();
  counter = createCounter(vocabulary);
  return { ms: performance.now() - from };
}

function passTime(pass: () => void, atLeast: number): number {
  const from = performance.now();
  let passes = 0;
  while (passes === 0 || performance.now() - from < atLeast) {
    pass();
    passes++;
  }
  return (performance.now() - from) / passes;
}

function measure(kind: string, units: number, atLeast: number): Counted {
  counter ??= createCounter(vocabulary);
  const count = counter;
  const text = textOf(kind, units);
  const tokens = count(text);
  const ms = Math.min(...Array.from({ length: 4 }, () => passTime(() => count(text), atLeast / 4)));
  const bytes = new TextEncoder().encode(text).length;
  return { kind, units: text.length, bytes, tokens, ms, priced: createMeter(count).text(text).tokens };
}

export default {
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/build") return Response.json(build());
    const number = (name: string): number => Number(searchParams.get(name));
    return Response.json(measure(searchParams.get("kind") ?? "prose", number("units"), number("ms")));
  },
} satisfies ExportedHandler;
