/**
 * The OpenAPI 3.1 document. The operations of the native routes are keyed by the route list: a
 * route without one does not compile.
 */
import { dialectNames } from "../dialects/dialect.ts";
import { namePattern } from "../providers/route-name.ts";
import { dropInPaths, dropInSchemas } from "./openapi-drop-in.ts";
import { array, object, ref, type Schema, schemasOf } from "./openapi-schemas.ts";
import { nativeRoutes, type RouteKey } from "./routes.ts";

interface Operation {
  summary: string;
  /** Names of shared parameters, besides the session id and, on every route, `branch`. */
  parameters?: readonly (keyof typeof parameters)[];
  body?: Schema;
  /** Status of success -> what it holds; null for no body. */
  answers: Readonly<Record<number, readonly [description: string, schema: Schema | null]>>;
  /** Statuses of problems that the route has of its own, besides those of every route. */
  problems?: readonly number[];
}

const integer = (minimum: number, maximum?: number): Schema => ({
  type: "integer",
  minimum,
  ...(maximum === undefined ? {} : { maximum }),
});
const query = (name: string, description: string, schema: Schema) => ({
  name,
  in: "query",
  description,
  schema,
});

const parameters = {
  branch: query("branch", "Name of a branch; the default is the branch of the newest event.", {
    type: "string",
    pattern: namePattern.source,
  }),
  after: query("after", "Only what has a greater seq.", integer(0)),
  limit: query("limit", "At most so many events, and at most 4 MiB of them.", integer(1, 1000)),
  at: query("at", "As it was when the log ended at this seq.", integer(0)),
  dialect: query("dialect", "The messages in this dialect; another one than the session's by conversion.", {
    enum: [...dialectNames],
  }),
  plan: query("plan", "Say what a compaction would do, and do nothing.", { type: "boolean" }),
  prices: query("prices", "Count all texts again.", { type: "boolean" }),
  key: {
    name: "Idempotency-Key",
    in: "header",
    description: "A repeated request gets the first answer and changes nothing. Kept for 24 hours.",
    schema: { type: "string" },
  },
} as const;

const operations: Record<RouteKey, Operation> = {
  "PUT /": {
    summary: "Create the session, or change the settings that are given",
    body: ref("Settings"),
    answers: { 200: ["Changed", ref("Session")], 201: ["Created", ref("Session")] },
    problems: [409],
  },
  "GET /": { summary: "The state of the session", answers: { 200: ["State", ref("Session")] } },
  "DELETE /": {
    summary: "Stop what runs, close the sockets, erase everything",
    answers: { 204: ["Erased", null] },
  },
  "GET /branches": { summary: "All branches", answers: { 200: ["Branches", {}] } },
  "POST /branches": {
    summary: "Open a branch at a node; a rewind is a branch one goes on with",
    body: ref("BranchOpening"),
    answers: { 201: ["Opened", ref("OpenedBranch")] },
    problems: [409],
  },
  "POST /events": {
    summary: "Append messages, usage, or the end of an aborted step",
    parameters: ["key"],
    body: ref("Append"),
    answers: { 200: ["Appended", ref("Appended")] },
    problems: [409, 422],
  },
  "GET /events": {
    summary: "The log, page by page, of all branches unless one is named",
    parameters: ["after", "limit"],
    answers: { 200: ["A page", object({ events: array(ref("Event")), next: {} })] },
  },
  "GET /surface": {
    summary: "What the model sees, now or as it was at a seq",
    parameters: ["at", "dialect"],
    answers: { 200: ["Surface", object({ generation: integer(0), messages: array({ type: "object" }) })] },
  },
  "GET /pressure": {
    summary: "Reported usage, pressure of the next request, and what replacements took and gave",
    answers: { 200: ["The three numbers, apart", ref("PressureReport")] },
  },
  "POST /prepare": {
    summary: "Compact if needed, append the batch, answer the exact messages to send",
    parameters: ["key"],
    body: ref("Prepare"),
    answers: { 200: ["What to send", ref("Prepared")] },
    problems: [409, 422],
  },
  "POST /overflow": {
    summary: "Report what the provider refused; learn what to do",
    body: ref("OverflowReport"),
    answers: { 200: ["What to do", ref("OverflowAnswer")] },
    problems: [409],
  },
  "POST /messages": {
    summary: "Put a user message into the inbox; the next step claims it",
    body: ref("Enqueue"),
    parameters: ["key"],
    answers: { 202: ["It waits", ref("Enqueued")] },
    problems: [409, 422],
  },
  "POST /steps": {
    summary: "Run one step on the session's route: request, recovery, reply",
    body: ref("StepRequest"),
    parameters: ["key"],
    answers: { 200: ["The reply, or with stream=true the provider's own stream", ref("Stepped")] },
    problems: [409, 422, 502],
  },
  "POST /compact": {
    summary: "Compact now, or with plan=true say what would be done",
    parameters: ["plan", "key"],
    answers: {
      200: [
        "Compacted, nothing to compact, or the plan",
        { anyOf: [ref("Compacted"), ref("Plan"), object({ outcome: { const: "nothing" } })] },
      ],
    },
    problems: [409, 502],
  },
  "POST /compact/undo": {
    summary: "Take back the newest compaction of the branch",
    answers: { 200: ["Undone", {}] },
    problems: [409],
  },
  "POST /cancel": { summary: "Cancel what is running", answers: { 200: ["Cancelled", {}] } },
  "GET /checkpoints": { summary: "All checkpoints", answers: { 200: ["Checkpoints", {}] } },
  "GET /checkpoints/{seq}": {
    summary: "One checkpoint with its span and evidence",
    answers: { 200: ["Checkpoint", {}] },
  },
  "GET /audit": {
    summary: "Replay the log and compare it with every projection",
    parameters: ["prices"],
    answers: { 200: ["Result", ref("Audit")] },
  },
  "GET /live": {
    summary: "WebSocket: the log from a seq on, then live",
    parameters: ["after"],
    answers: { 101: ["Switching protocols", null] },
  },
};

const everyProblem = [400, 401, 404, 413, 500, 503];
const problem = {
  description: "Problem details",
  content: { "application/problem+json": { schema: ref("Problem") } },
};

/** The document, made on the first call. */
export function openapi(): ReturnType<typeof build> {
  built ??= build();
  return built;
}

let built: ReturnType<typeof build> | undefined;

const build = () => ({
  openapi: "3.1.0",
  info: {
    title: "Plimsoll",
    version: "0.1.0",
    description: "A session gateway that keeps every agent session under its model's context window.",
    license: { name: "MIT", identifier: "MIT" },
  },
  security: [{ bearer: [] }, { apiKey: [] }, { plimsollToken: [] }],
  paths: {
    ...Object.fromEntries(Object.keys(nativeRoutes).map((path) => [fullPath(path), pathItem(path)])),
    ...dropInPaths(),
    "/healthz": { get: ownRoute("healthz", "Whether the Worker answers", object({ ok: { const: true } })) },
    "/openapi.json": { get: ownRoute("openapi", "This document", { type: "object" }) },
  },
  components: {
    schemas: { ...schemasOf(), ...dropInSchemas } as ReturnType<typeof schemasOf>,
    securitySchemes: {
      bearer: { type: "http", scheme: "bearer" },
      apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
      plimsollToken: { type: "apiKey", in: "header", name: "plimsoll-token" },
    },
  },
});

function fullPath(path: string): string {
  return path === "/" ? "/v1/sessions/{id}" : `/v1/sessions/{id}${path}`;
}

function pathItem(path: string): Record<string, unknown> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
  const own = names.map((name) => ({ name, in: "path", required: true, schema: integer(1) }));
  const id = {
    name: "id",
    in: "path",
    required: true,
    schema: { type: "string", pattern: namePattern.source },
  };
  const item: Record<string, unknown> = { parameters: [id, ...own, parameters.branch] };
  for (const [key, operation] of Object.entries(operations)) {
    const [method = "", of] = key.split(" ");
    if (of === path) item[method.toLowerCase()] = describe(key, operation);
  }
  return item;
}

function describe(key: string, operation: Operation): Record<string, unknown> {
  const responses: Record<string, unknown> = {};
  for (const [status, [description, schema]] of Object.entries(operation.answers)) {
    responses[status] =
      schema === null ? { description } : { description, content: { "application/json": { schema } } };
  }
  for (const status of [...everyProblem, ...(operation.problems ?? [])]) responses[status] = problem;
  return {
    operationId: key.toLowerCase().replace(/\W+/g, "_").replace(/^_|_$/g, ""),
    summary: operation.summary,
    parameters: (operation.parameters ?? []).map((name) => parameters[name]),
    ...(operation.body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: operation.body } } } }),
    responses,
  };
}

function ownRoute(operationId: string, summary: string, schema: Schema): Record<string, unknown> {
  const answer = { description: summary, content: { "application/json": { schema } } };
  return { operationId, summary, security: [], responses: { 200: answer } };
}
