/** The texts of the counting bench by kind and length: the same in Node and in workerd. */
import { everyKind, generate } from "../test/meter/corpus.ts";

export function textOf(kind: string, units: number): string {
  const stretch = everyKind[kind];
  if (stretch === undefined) throw new Error(`no such kind of text: ${kind}`);
  return generate(stretch, units, 17);
}
