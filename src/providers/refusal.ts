/**
 * What a provider said when it refused: codes, status and its own message, read from whatever body came
 * back. Only the places where providers put their own words are read, so that an echoed prompt is never
 * taken for one. Pure; never throws.
 */

export interface SaidRefusal {
  /** Every code and type the body names, lower case, the innermost first. */
  codes: string[];
  /** The provider's own words, the innermost first, each short. */
  messages: string[];
  /** A status that the body states; one known from the transport outranks it. */
  status?: number;
  /** Whole numbers that llama.cpp's server states beside its message. */
  counts: { n_prompt_tokens?: number; n_ctx?: number };
}

/** Longer messages are cut: own messages are short, what follows is echo. */
const messageLimit = 2_000;
/** Longer texts are not decoded as JSON. */
const bodyLimit = 65_536;

/** @param body text, a decoded JSON value, or a thrown value. */
export function readRefusal(body: unknown): SaidRefusal {
  const said: SaidRefusal = { codes: [], messages: [], counts: {} };
  read(body, said, true);
  return said;
}

function read(value: unknown, said: SaidRefusal, mayNest: boolean): void {
  if (typeof value === "string") readText(value, said, mayNest);
  else if (typeof value === "object" && value !== null) readObject(value, said, mayNest);
}

/** SDKs put the status before the body: `400 {"error":…}`. */
function readText(text: string, said: SaidRefusal, mayNest: boolean): void {
  const rest = withoutStatus(text, said);
  const event = eventData(rest);
  const decoded = decode(event ?? rest) ?? decode(withoutLabels(rest));
  if (decoded !== undefined) readObject(decoded, said, mayNest);
  else if (rest !== "" && !isNoBody(rest)) said.messages.push(rest.slice(0, messageLimit));
}

/** The data of the last event, where the body is the text of an event stream. */
function eventData(text: string): string | undefined {
  if (!/^(?:event|data|id|:)[ :]/.test(text)) return undefined;
  const lines = text.split("\n").filter((line) => /^data: ?[[{]/.test(line));
  return lines.at(-1)?.slice("data:".length).trim();
}

/** What SDKs, servers and proxies put in front of the words that they pass on. */
const labels: readonly RegExp[] = [
  /^[\w.]{0,64}(?:error|exception)\s*[:-]\s*/i,
  /^api error\s*[:-]\s*/i,
  /^an error occurred \(\w{1,64}\) when calling the \w{1,64} operation(?: \([^)]{0,64}\))?:\s*/i,
  /^the model returned the following errors:\s*/i,
  /^input validation error:\s*/i,
  /^provider returned error:\s*/i,
  /^upstream error from [\w .-]{1,64}:\s*/i,
  /^invalid (?:params,|request:)\s*/i,
  /^<\d{3}> ?[\w.]{1,64}:\s*/,
  /^error code: \d{3}\s*[:-]\s*/i,
  /^\d{4}:\s*/,
  // Python's way to print an object and bytes.
  /^\{'(?:type': 'error', ')?error': \{(?:'type': '\w{1,64}', )?'message': ["']/,
  /^b'(?=\{)/,
];
/** Wrappers around wrappers; more than these nobody has seen. */
const MAX_LABELS = 8;

/** The message as the provider itself worded it. */
export function withoutLabels(message: string): string {
  let text = message;
  for (let round = 0; round < MAX_LABELS; round++) {
    const found = labels.map((label) => label.exec(text)?.[0].length ?? 0).find((length) => length > 0);
    if (found === undefined) return text;
    text = text.slice(found);
  }
  return text;
}

/** The text without a leading status, which is kept. */
function withoutStatus(text: string, said: SaidRefusal): string {
  const trimmed = text.slice(0, bodyLimit + 4).trim();
  const status = /^([1-5]\d\d)(?=[\s:,]|$)/.exec(trimmed)?.[1];
  if (status === undefined) return trimmed;
  said.status ??= Number(status);
  return trimmed.slice(3).replace(/^[\s:,-]+/, "");
}

function readMessage(message: string, said: SaidRefusal, mayNest: boolean): void {
  const words = withoutStatus(message, said);
  if (words === "" || isNoBody(words)) return;
  const nested = mayNest ? decode(withoutLabels(words)) : undefined;
  if (nested !== undefined) readObject(nested, said, false);
  else said.messages.push(words.slice(0, messageLimit));
}

/** How SDKs spell an empty body. */
function isNoBody(text: string): boolean {
  return /^(?:status code )?\(no body\)$/i.test(text);
}

function decode(text: string): object | undefined {
  if (text.length > bodyLimit || !/^[[{]/.test(text)) return undefined;
  // A proxy may have words of its own behind what it passes on.
  for (const end of [text.length, text.lastIndexOf("}") + 1]) {
    try {
      return JSON.parse(text.slice(0, end)) as object;
    } catch {}
  }
  return undefined;
}

function readObject(value: object, said: SaidRefusal, mayNest: boolean): void {
  const root = unwrapped(Array.isArray(value) ? (objectAt(value, 0) ?? value) : value);
  const listed = objectAt(root, "errors");
  const inner = objectAt(root, "error") ?? (listed === undefined ? undefined : objectAt(listed, 0)) ?? root;
  const message = [at(inner, "message"), at(root, "error"), at(root, "message"), at(root, "detail")].find(
    (one) => typeof one === "string",
  ) as string | undefined;
  // A router wraps the text of the provider behind it; that text is decoded once, never what is inside it
  // again.
  if (mayNest) {
    const metadata = objectAt(inner, "metadata");
    read(metadata === undefined ? undefined : at(metadata, "raw"), said, false);
  }
  for (const holder of inner === root ? [root] : [inner, root]) readCodes(holder, said);
  if (message !== undefined) readMessage(message, said, mayNest);
  for (const key of ["n_prompt_tokens", "n_ctx"] as const) {
    const count = at(inner, key);
    if (typeof count === "number" && Number.isSafeInteger(count)) said.counts[key] ??= count;
  }
}

/** Inside a stream the error lies in a response that failed (Responses), or in a choice (OpenRouter). */
function unwrapped(root: object): object {
  if (objectAt(root, "error") !== undefined) return root;
  const choices = objectAt(root, "choices");
  const choice = choices === undefined ? undefined : objectAt(choices, 0);
  const holders = [objectAt(root, "response"), choice];
  return holders.find((one) => one !== undefined && objectAt(one, "error") !== undefined) ?? root;
}

function readCodes(holder: object, said: SaidRefusal): void {
  const details = objectAt(holder, "details");
  const behind = objectAt(holder, "innererror");
  const found = [
    at(holder, "code"),
    at(holder, "type"),
    details === undefined ? undefined : at(details, "error_code"),
    behind === undefined ? undefined : at(behind, "code"),
  ];
  for (const code of found) {
    if (typeof code === "string") said.codes.push(code.slice(0, 128).toLowerCase());
  }
  for (const status of [at(holder, "status"), at(holder, "code")]) {
    if (typeof status === "number" && status >= 100 && status < 600) said.status ??= status;
  }
}

/** A thrown value may have getters that throw. */
function at(holder: object, key: string | number): unknown {
  try {
    return (holder as Readonly<Record<string | number, unknown>>)[key];
  } catch {
    return undefined;
  }
}

function objectAt(holder: object, key: string | number): object | undefined {
  const value = at(holder, key);
  return typeof value === "object" && value !== null ? value : undefined;
}
