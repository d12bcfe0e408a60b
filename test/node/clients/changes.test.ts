/**
 * What clients do to replies that are not of the plain kind. `known`: the reply is known again in the next request; `changed`: the
 * client says something else than the provider did, and no key may hide that; what is behind it starts a branch of its own.
 */
import { describe, expect, it } from "vitest";
import type { WireDialect } from "../../../src/dialects/wire.ts";
import { knownAgain } from "./linked.ts";
import type { Json, Provider, Said } from "./provider.ts";
import { chatCall, functionCall, outputMessage, reasoning, toolUse } from "./said.ts";
import * as ai from "./with-ai.ts";
import * as langchain from "./with-langchain.ts";

const text = (text: string, citations?: Json[]): Json => ({
  type: "text",
  text,
  ...(citations === undefined ? {} : { citations }),
});
const cited: Json = {
  type: "char_location",
  cited_text: "x",
  document_index: 0,
  document_title: null,
  start_char_index: 0,
  end_char_index: 1,
};
const searched: Json[] = [
  text("Searching"),
  {
    type: "server_tool_use",
    id: "srvtoolu_1",
    name: "web_search",
    input: { query: "q" },
    caller: { type: "direct" },
  },
  {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    caller: { type: "direct" },
    content: [
      {
        type: "web_search_result",
        url: "https://example.com/",
        title: "T",
        encrypted_content: "EqgfCioIARgB",
        page_age: null,
      },
    ],
  },
  text("Found"),
];

const cases = {
  "two texts, the second cited": [
    { role: "assistant", content: [text("Two "), text("blocks \n", [cited]), toolUse("toolu_a")] },
  ],
  "a call without input": [{ role: "assistant", content: [text("\n\n"), toolUse("toolu_a", {})] }],
  "a search of the server": [{ role: "assistant", content: [...searched, toolUse("toolu_a")] }],
  "an answer in two texts": [
    reasoning("rs_1", "Hm"),
    {
      ...outputMessage("msg_1", "One "),
      content: ["One ", "two"].map((text) => ({ type: "output_text", annotations: [], logprobs: [], text })),
      phase: "commentary",
    },
    functionCall("fc_1", "call_a", "{}"),
  ],
  "two answers before a call": [
    outputMessage("msg_1", "A"),
    outputMessage("msg_2", "B"),
    functionCall("fc_1", "call_a", '{"path":"a"}'),
  ],
  "a search item": [
    {
      id: "ws_1",
      type: "web_search_call",
      status: "completed",
      action: { type: "search", query: "q", queries: ["q"] },
    },
    functionCall("fc_1", "call_a", "{}"),
  ],
  "calls without arguments and without JSON": [
    functionCall("fc_1", "call_a", ""),
    functionCall("fc_2", "call_b", "{not json"),
  ],
  "space around a text, reasoning, a citation": [
    {
      role: "assistant",
      content: " A text ",
      refusal: null,
      reasoning_content: "Hm",
      annotations: [
        { type: "url_citation", url_citation: { start_index: 0, end_index: 1, title: "t", url: "u" } },
      ],
      tool_calls: [chatCall("call_a", "{}")],
    },
  ],
  "a call without JSON": [
    {
      role: "assistant",
      content: null,
      refusal: null,
      tool_calls: [chatCall("call_a", "{}"), chatCall("call_b", "{not json")],
    },
  ],
} satisfies Record<string, Said>;

type Case = keyof typeof cases;
type Row = [dialect: WireDialect, client: string, reply: Case, does: string, again: string[]];

/** Clients by name, each with and without a stream. */
const clients: Record<string, (provider: Provider, dialect: WireDialect) => Promise<void>> = {
  ai: (provider, dialect) => runAi(provider, dialect, false),
  "ai, stream": (provider, dialect) => runAi(provider, dialect, true),
  langchain: (provider, dialect) => runLangchain(provider, dialect, false),
  "langchain, stream": (provider, dialect) => runLangchain(provider, dialect, true),
  "langchain v1": (provider, dialect) => runLangchain(provider, dialect, false, { outputVersion: "v1" }),
  "langchain v1, stream": (provider, dialect) =>
    runLangchain(provider, dialect, true, { outputVersion: "v1" }),
};

async function runAi(provider: Provider, dialect: WireDialect, stream: boolean): Promise<void> {
  const model =
    dialect === "anthropic"
      ? ai.anthropic(provider)("claude-opus-5-5")
      : dialect === "openai-chat"
        ? ai.openai(provider).chat("gpt-5.5")
        : ai.openai(provider).responses("gpt-5.5");
  await ai.loop(model, { stream, thanks: false, providerOptions: { openai: { store: false } } });
}

async function runLangchain(
  provider: Provider,
  dialect: WireDialect,
  stream: boolean,
  options = {},
): Promise<void> {
  const model =
    dialect === "anthropic"
      ? langchain.anthropic(provider, options)
      : langchain.openai(provider, dialect === "openai-responses", options);
  await langchain.loop(model, { stream, thanks: false });
}

const all = (dialect: WireDialect, reply: Case, again: string[], ...names: string[]): Row[] =>
  names.map((name) => [dialect, name, reply, "keeps what it says", again]);

const rows: Row[] = [
  ...all(
    "anthropic",
    "two texts, the second cited",
    ["known"],
    "ai",
    "ai, stream",
    "langchain",
    "langchain, stream",
    "langchain v1",
  ),
  ...all(
    "anthropic",
    "a call without input",
    ["known"],
    "ai",
    "ai, stream",
    "langchain",
    "langchain, stream",
    "langchain v1",
  ),
  ...all("anthropic", "a search of the server", ["known"], "ai", "ai, stream", "langchain"),
  [
    "anthropic",
    "langchain, stream",
    "a search of the server",
    "loses the input of the server's call",
    ["changed"],
  ],
  [
    "anthropic",
    "langchain v1",
    "a search of the server",
    "empties title and content of the results",
    ["changed"],
  ],
  [
    "anthropic",
    "langchain v1, stream",
    "a call without input",
    "makes two calls of one, the second without id",
    ["changed"],
  ],

  ...all(
    "openai-responses",
    "an answer in two texts",
    ["transparent", "known", "known"],
    "langchain",
    "langchain, stream",
    "langchain v1",
    "langchain v1, stream",
  ),
  [
    "openai-responses",
    "ai, stream",
    "an answer in two texts",
    "joins the texts",
    ["transparent", "known", "known"],
  ],
  [
    "openai-responses",
    "ai",
    "an answer in two texts",
    "makes two messages of one",
    ["transparent", "changed", "known"],
  ],
  ...all("openai-responses", "two answers before a call", ["known", "known", "known"], "ai", "ai, stream"),
  [
    "openai-responses",
    "langchain v1",
    "two answers before a call",
    "makes one message of two, behind the call",
    ["changed", "changed", "known"],
  ],
  [
    "openai-responses",
    "langchain v1, stream",
    "two answers before a call",
    "the same, and loses the arguments",
    ["changed", "changed", "changed"],
  ],
  ...all(
    "openai-responses",
    "a search item",
    ["known", "known"],
    "ai",
    "ai, stream",
    "langchain",
    "langchain, stream",
  ),
  [
    "openai-responses",
    "langchain v1",
    "a search item",
    "makes a function call and its output of it",
    ["changed", "known"],
  ],
  [
    "openai-responses",
    "ai",
    "calls without arguments and without JSON",
    "writes {} for both",
    ["known", "changed"],
  ],
  [
    "openai-responses",
    "langchain",
    "calls without arguments and without JSON",
    "keeps both",
    ["known", "known"],
  ],
  [
    "openai-responses",
    "langchain v1",
    "calls without arguments and without JSON",
    "drops both calls, not their results",
    ["changed", "changed"],
  ],

  ...all(
    "openai-chat",
    "space around a text, reasoning, a citation",
    ["known"],
    "ai",
    "ai, stream",
    "langchain",
    "langchain, stream",
    "langchain v1",
    "langchain v1, stream",
  ),
  ["openai-chat", "ai", "a call without JSON", "writes {} for it", ["changed"]],
  ["openai-chat", "langchain", "a call without JSON", "drops the call, not its result", ["changed"]],
  ["openai-chat", "langchain, stream", "a call without JSON", "drops the call, not its result", ["changed"]],
];

describe("what clients change", () => {
  it.each(rows)("%s, %s, %s: it %s", async (dialect, client, reply, _does, again) => {
    const run = clients[client]!;
    expect(await knownAgain(dialect, cases[reply], (provider) => run(provider, dialect))).toEqual(again);
  });
});
