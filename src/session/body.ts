/** Reads a request's body as bytes: scanned once, members sliced raw, small ones decoded. Never decoded whole. */
import type { z } from "zod";
import { Refusal } from "../failure.ts";
import { decode, elements, kindOf, type Member, members, root, scanDocument } from "../log/scanner.ts";

export interface Body {
  readonly bytes: Uint8Array;
  /** Raw bytes of a member's value; undefined when it is absent. */
  raw(key: string): Uint8Array | undefined;
  /** Raw bytes of each element of an array member; `at` names it for errors. @throws Refusal `bad-request`. */
  list(key: string): { bytes: Uint8Array; at: string }[] | undefined;
}

/** Reads to the end. The gateway has bounded the length already. */
export async function readBytes(request: Request): Promise<Uint8Array> {
  return new Uint8Array(await request.arrayBuffer());
}

/**
 * An object with no other members than `keys`; an empty body is an empty object.
 * @throws Refusal `bad-json`, `too-deep`, `bad-request`.
 */
export function parseBody(bytes: Uint8Array, keys: readonly string[]): Body {
  const found = new Map<string, Member>();
  if (bytes.byteLength > 0) {
    scanDocument(bytes);
    const start = root(bytes);
    if (kindOf(bytes, start) !== "object")
      throw new Refusal("bad-request", "The body must be a JSON object.");
    for (const entry of members(bytes, start)) {
      if (!keys.includes(entry.key))
        throw new Refusal("bad-request", "Unknown key.", { at: safeKey(entry.key) });
      found.set(entry.key, entry);
    }
  }
  const slice = (key: string) => {
    const span = found.get(key);
    return span && bytes.subarray(span.start, span.end);
  };
  return {
    bytes,
    raw: slice,
    list(key) {
      const span = found.get(key);
      if (span === undefined) return undefined;
      if (kindOf(bytes, span.start) !== "array")
        throw new Refusal("bad-request", "Must be an array.", { at: key });
      return [...elements(bytes, span.start)].map(({ start, end }, index) => ({
        bytes: bytes.subarray(start, end),
        at: `${key}[${index}]`,
      }));
    },
  };
}

/** The members named by a schema's shape, decoded and checked. @throws Refusal `bad-request` with the place of the fault. */
export function checked<T extends z.ZodObject>(body: Body, schema: T): z.infer<T> {
  const value: Record<string, unknown> = {};
  for (const key of Object.keys(schema.shape)) {
    const raw = body.raw(key);
    if (raw !== undefined) value[key] = decode(raw, 0, raw.byteLength);
  }
  return checkValue(value, schema, "");
}

export function checkValue<T extends z.ZodType>(value: unknown, schema: T, at: string): z.infer<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = [at, ...(issue?.path ?? []).map((step) => safeKey(String(step)))].filter(
    (step) => step !== "",
  );
  const unknown = issue?.code === "unrecognized_keys" ? [safeKey(issue.keys[0] ?? "")] : [];
  const detail = issue?.code === "unrecognized_keys" ? "Unknown key." : (issue?.message ?? "Not valid.");
  throw new Refusal("bad-request", detail, { at: [...path, ...unknown].join(".") });
}

/** Refuses an object (at the start of `bytes`) with other members than `keys`. @throws Refusal `bad-request`. */
export function checkKeys(bytes: Uint8Array, keys: readonly string[], at: string): void {
  for (const { key } of members(bytes, 0)) {
    if (!keys.includes(key))
      throw new Refusal("bad-request", "Unknown key.", { at: `${at}.${safeKey(key)}` });
  }
}

/** A key is shown only as far as it looks like one of ours: values of clients are not echoed. */
function safeKey(key: string): string {
  return /^[A-Za-z0-9_-]{1,64}$/.test(key) ? key : "(key)";
}
