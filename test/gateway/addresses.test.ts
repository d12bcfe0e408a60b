import { expect, it } from "vitest";
import { addressOf, dialectOf } from "../../src/gateway/addresses.ts";

const step = (endpoint: string, dialect: string) => ({ kind: "step", endpoint, dialect });
const chat = step("chat", "openai-chat");
const responses = step("responses", "openai-responses");
const messages = step("messages", "anthropic");
const count = step("count_tokens", "anthropic");

it.each([
  ["/openai/v1/chat/completions", "openai", chat],
  ["/openai/chat/completions", "openai", chat],
  ["/openai/v1/v1/chat/completions", "openai", chat],
  ["/openai/v1/chat/completions/", "openai", chat],
  ["//openai//v1//chat/completions", "openai", chat],
  ["/openai/v1/responses", "openai", responses],
  ["/anthropic/v1/messages", "anthropic", messages],
  ["/anthropic/messages", "anthropic", messages],
  ["/anthropic/v1/v1/messages/", "anthropic", messages],
  ["/anthropic/v1/messages/count_tokens", "anthropic", count],
])(
  "[G30] POST %s is the endpoint it can only mean, on its own and below a session",
  (path, vendor, target) => {
    expect(addressOf("POST", path)).toEqual({ vendor, target });
    expect(addressOf("POST", `/v1/sessions/s.1${path}`)).toEqual({ vendor, session: "s.1", target });
  },
);

it.each([
  ["GET", "/openai/v1/models", { kind: "models" }],
  ["HEAD", "/anthropic/v1/models/", { kind: "models" }],
  ["GET", "/openai/v1/models/gpt-5", { kind: "models", model: "gpt-5" }],
  [
    "GET",
    "/openai/v1/models/groq%2Fopenai%2Fgpt-oss-20b",
    { kind: "models", model: "groq/openai/gpt-oss-20b" },
  ],
  ["GET", "/openai/models/groq/openai/gpt-oss-20b", { kind: "models", model: "groq/openai/gpt-oss-20b" }],
  ["DELETE", "/openai/v1/models/ft:gpt", { kind: "relay", path: "/models/ft:gpt" }],
  ["GET", "/openai/v1/chat/completions", { kind: "relay", path: "/chat/completions" }],
  ["GET", "/openai/v1/responses/resp_1", { kind: "relay", path: "/responses/resp_1" }],
  ["DELETE", "/openai/v1/responses/resp_1", { kind: "relay", path: "/responses/resp_1" }],
  ["POST", "/openai/v1/responses/resp_1/cancel", { kind: "relay", path: "/responses/resp_1/cancel" }],
  [
    "GET",
    "/openai/v1/responses/resp_1/input_items",
    { kind: "relay", path: "/responses/resp_1/input_items" },
  ],
  ["POST", "/openai/v1/embeddings", { kind: "relay", path: "/embeddings" }],
  ["POST", "/anthropic/v1/messages/batches", { kind: "relay", path: "/messages/batches" }],
  ["POST", "/openai/v1/messages", { kind: "relay", path: "/messages" }],
  ["POST", "/anthropic/v1/toString", { kind: "relay", path: "/toString" }],
  ["POST", "/openai/v1internal", { kind: "relay", path: "/v1internal" }],
  ["POST", "/openai/v1", undefined],
  ["POST", "/anthropic/", undefined],
])("[G30] %s %s", (method, path, target) => {
  expect(addressOf(method, path)?.target).toEqual(target);
});

it.each([
  "/",
  "/openaix/v1/models",
  "/groq/v1/chat/completions",
  "/v1/openai/models",
  "/v1/sessions/a/b/openai/v1/models",
])("[G30] %s is below no drop-in base", (path) => {
  expect(addressOf("POST", path)).toBeUndefined();
});

it("[G30] refusals are told in the dialect of the endpoint, elsewhere in the vendor's", () => {
  const told = [
    "/openai/v1/responses",
    "/openai/v1/files",
    "/openai",
    "/anthropic/v1/files",
    "/anthropic/v1/messages",
  ];
  expect(told.map((path) => dialectOf(addressOf("POST", path)!))).toEqual([
    "openai-responses",
    "openai-chat",
    "openai-chat",
    "anthropic",
    "anthropic",
  ]);
});
