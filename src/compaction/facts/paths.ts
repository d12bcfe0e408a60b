/** What counts as a file path, and its one spelling. Knows nothing of tools or commands. */

const MAX_PATH = 400;

/**
 * A path in its one spelling, or undefined for what is none: blank, too long, or with control characters or
 * line breaks.
 */
export function normalPath(raw: string): string | undefined {
  if (raw.length > MAX_PATH) return undefined;
  const path = raw.trim().replace(/^file:\/\//, "");
  if (path === "" || /[\p{Cc}\u2028\u2029]/u.test(path)) return undefined;
  const rooted = path.startsWith("/");
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    const last = parts.at(-1);
    if (part !== ".." || last === undefined || last === ".." || last === "~") parts.push(part);
    else parts.pop();
  }
  const joined = (rooted ? "/" : "") + parts.join("/");
  return joined === "" || joined === "/" || joined === "~" || joined === ".." ? undefined : joined;
}

/** A path seen from a folder that the same command went to. */
export function joinPath(folder: string, path: string): string {
  return folder === "" || /^[/~]|^[A-Za-z]:/.test(path) ? path : `${folder}/${path}`;
}

/**
 * A word of a command that a program which takes files is given. Options, patterns, variables and addresses
 * are none.
 */
export function mayBePath(word: string): boolean {
  return (
    word.length <= MAX_PATH &&
    !word.startsWith("-") &&
    !/[*?$`"'<>|;&(){}[\]=^!,\\\s\p{Cc}\u2028\u2029]|:\/\//u.test(word) &&
    /[\p{L}\p{N}_]/u.test(word) &&
    !/^\d+(?:\.\d+)*[a-z%]?$|\.{3}|[^/]\.\.|\.\.[^/]/.test(word) &&
    word !== "/dev/null"
  );
}

/** A word that looks like a path by itself, whatever the program: rooted, or with folders and an ending. */
export function looksLikePath(word: string): boolean {
  if (!mayBePath(word) || /[@:#]|[^/]~|~[^/]/.test(word)) return false;
  if (/^(?:\/|\.{1,2}\/|~\/)[^/]/.test(word)) return !word.startsWith("/dev/");
  const name = word.slice(word.lastIndexOf("/") + 1);
  return (
    /^[^.].*\.[A-Za-z][A-Za-z0-9]{0,7}$|^\.[a-z][\w.-]+$/.test(name) &&
    !/^\w+(?:\.\w+)*\.(?:com|org|io|net|dev)$/.test(name)
  );
}
