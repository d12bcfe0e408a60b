/**
 * The drop-in endpoints in the OpenAPI document, once on the static base URL and once below a session. What
 * they take and answer is the vendors' own; only what Plimsoll adds is described.
 */
import { namePattern } from "../providers/route-name.ts";
import { object, ref, type Schema } from "./openapi-schemas.ts";

type Shape = "OpenAiError" | "AnthropicError";

interface Endpoint {
  summary: string;
  error: Shape;
  /** Answers may be streams of events. */
  streams?: true;
  get?: true;
}

export const dropInEndpoints: Readonly<Record<string, Endpoint>> = {
  "/openai/v1/chat/completions": {
    summary: "OpenAI Chat Completions, kept under the window",
    error: "OpenAiError",
    streams: true,
  },
  "/openai/v1/responses": {
    summary: "OpenAI Responses, kept under the window",
    error: "OpenAiError",
    streams: true,
  },
  "/openai/v1/models": { summary: "Models with window and max output", error: "OpenAiError", get: true },
  "/openai/v1/models/{model}": { summary: "One model", error: "OpenAiError", get: true },
  "/anthropic/v1/messages": {
    summary: "Anthropic Messages, kept under the window",
    error: "AnthropicError",
    streams: true,
  },
  "/anthropic/v1/messages/count_tokens": {
    summary: "Tokens of what would be sent; with plimsoll-count: full, of what came",
    error: "AnthropicError",
  },
  "/anthropic/v1/models": {
    summary: "Models with window and max output",
    error: "AnthropicError",
    get: true,
  },
  "/anthropic/v1/models/{model}": { summary: "One model", error: "AnthropicError", get: true },
};

const text: Schema = { type: "string" };

export const dropInSchemas: Readonly<Record<string, Schema>> = {
  Vendor: { type: "object", description: "As the vendor defines it.", additionalProperties: true },
  OpenAiError: object({
    error: object({ message: text, type: text, param: { type: ["string", "null"] }, code: text }),
  }),
  AnthropicError: object({
    type: { const: "error" },
    error: object({ type: text, message: text, code: text }),
  }),
};

const inPath = (name: string, schema: Schema) => ({ name, in: "path", required: true, schema });
const id = inPath("id", { type: "string", pattern: namePattern.source });
const session = {
  name: "plimsoll-session",
  in: "header",
  description: "Names the session where neither the path nor an id of the client's own does.",
  schema: { type: "string", pattern: namePattern.source },
};

/** Path items by path. */
export function dropInPaths(): Record<string, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [path, endpoint] of Object.entries(dropInEndpoints)) {
    const model = path.includes("{model}") ? [inPath("model", text)] : [];
    const own = endpoint.get === true ? [] : [session];
    paths[path] = { parameters: [...model, ...own], ...operation(path, endpoint) };
    const below = `/v1/sessions/{id}${path}`;
    paths[below] = { parameters: [id, ...model], ...operation(below, endpoint) };
  }
  return paths;
}

function operation(path: string, { summary, error, streams, get }: Endpoint): Record<string, unknown> {
  const json = { "application/json": { schema: ref("Vendor") } };
  const content = streams === true ? { ...json, "text/event-stream": { schema: text } } : json;
  const responses: Record<string, unknown> = { 200: { description: "As the vendor answers", content } };
  for (const status of get === true ? [400, 401, 404, 500, 503] : [400, 401, 404, 413, 500, 503]) {
    responses[status] = {
      description: "A refusal in the vendor's shape",
      content: { "application/json": { schema: ref(error) } },
    };
  }
  const operationId = `${get === true ? "get" : "post"}${path.replace(/\W+/g, "_")}`.replace(/_$/, "");
  const body = get === true ? {} : { requestBody: { required: true, content: json } };
  return { [get === true ? "get" : "post"]: { operationId, summary, ...body, responses } };
}
