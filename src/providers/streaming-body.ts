/** Makes a request body ask for a stream with usage at its end. Pure; all other bytes stay as they are. */
import type { DialectName } from "../dialects/dialect.ts";
import { applyEdits, memberAddition, memberRemovals, utf8Bytes } from "../log/json-edit.ts";
import { root, scanDocument } from "../log/scanner.ts";

const fields: Readonly<Record<DialectName, readonly (readonly [key: string, value: string])[]>> = {
  // Without `include_usage` a Chat Completions stream tells no usage at all.
  "openai-chat": [
    ["stream", "true"],
    ["stream_options", '{"include_usage":true}'],
  ],
  anthropic: [["stream", "true"]],
  "openai-responses": [["stream", "true"]],
};

/**
 * `body` with the dialect's stream fields set, whatever it said about them.
 * @throws Refusal `bad-json`, `too-deep`; Defect when the body is not an object.
 */
export function streamingBody(dialect: DialectName, body: Uint8Array): Uint8Array {
  scanDocument(body);
  let bytes = body;
  for (const [key] of fields[dialect]) bytes = applyEdits(bytes, memberRemovals(bytes, root(bytes), key));
  const start = root(bytes);
  return applyEdits(
    bytes,
    fields[dialect].map(([key, value]) => memberAddition(bytes, start, key, utf8Bytes(value))),
  );
}
