/** Texts for the append bench, by size and seed: prose and code in equal parts, never the same twice. */

const words = (
  "the session keeps every message of the agent in one log and shows the model a smaller surface when the window is nearly full " +
  "const value = await this.read(path); if (found === undefined) return; for (const [index, item] of rows.entries()) total += item.price; " +
  "export function budget(policy: Policy, capacity: Capacity): number { throw new Error(`nothing at {place}`); } // see the test above"
).split(" ");

/** About `size` ASCII characters. */
export function textOf(size: number, seed: number): string {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  const picked: string[] = [];
  for (let length = 0; length < size; ) {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    const word = words[state % words.length] ?? "";
    picked.push(word);
    length += word.length + 1;
  }
  return picked.join(" ").slice(0, size);
}
