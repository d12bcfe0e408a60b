/**
 * JSON.parse silently keeps the last of two equal keys; configuration that says a thing twice is a mistake
 * to be told.
 */

/** The tokens of valid JSON that matter here: strings, and what opens, closes or separates. */
const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/**
 * A key that stands twice in one object of `json`, or undefined. `json` must have passed `JSON.parse`.
 * Linear.
 */
export function repeatedKey(json: string): string | undefined {
  /** The keys seen in each open object; undefined for an open array. */
  const open: (Set<string> | undefined)[] = [];
  let last = "";
  for (const [found] of json.matchAll(token)) {
    if (found === "{") open.push(new Set());
    else if (found === "[") open.push(undefined);
    else if (found === "}" || found === "]") open.pop();
    else if (found === ":") {
      const keys = open.at(-1);
      const key = JSON.parse(last) as string;
      if (keys?.has(key)) return key;
      keys?.add(key);
    }
    last = found;
  }
  return undefined;
}
