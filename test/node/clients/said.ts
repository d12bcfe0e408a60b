/** What providers say in the tests: real shapes, and arguments that no serialiser would print this way. */
import type { Json } from "./provider.ts";

/** Whitespace, an escape that is not needed, a number with a zero, names in another order than the tool's schema has them. */
export const oddArguments = '{"path": "src/caf\\u00e9.ts",  "limit": 1.0,\n "filter": {"z": 1e3, "a": [ ]}}';
export const plainArguments = '{"limit":2,"path":"README.md"}';

export const toolParameters = {
  type: "object",
  properties: {
    limit: { type: "number" },
    path: { type: "string" },
    filter: { type: "object", additionalProperties: true },
  },
  required: ["path"],
} as const;

export const question = "What is in the file? 日本 🚢";
export const results = ['first line\nsecond "line"\t…', "nothing"];

export function chatCall(id: string, args: string): Json {
  return { id, type: "function", function: { name: "read_file", arguments: args } };
}

/** Two calls at once, then one call beside a text, then the answer with annotations. */
export const chatReplies: Json[][] = [
  [
    {
      role: "assistant",
      content: null,
      tool_calls: [chatCall("call_a", oddArguments), chatCall("call_b", plainArguments)],
      refusal: null,
      annotations: [],
    },
  ],
  [
    {
      role: "assistant",
      content: "One more \u2026\n",
      tool_calls: [chatCall("call_c", plainArguments)],
      refusal: null,
      annotations: [],
    },
  ],
  [{ role: "assistant", content: "It is empty.", refusal: null, annotations: [] }],
  [{ role: "assistant", content: "You are welcome.", refusal: null, annotations: [] }],
];

const input = { path: "src/café.ts", limit: 1, filter: { z: 1000, a: [] } };

export function toolUse(id: string, args: Json = input): Json {
  return { type: "tool_use", id, name: "read_file", input: args, caller: { type: "direct" } };
}

export function thinking(text: string): Json {
  return { type: "thinking", thinking: text, signature: "EqQBCkYIBxgCKkD" };
}

/** Thinking and two calls at once, then text beside a call, then hidden thinking and the answer. */
export const anthropicReplies: Json[][] = [
  [
    {
      role: "assistant",
      content: [thinking("Let me look."), toolUse("toolu_a"), toolUse("toolu_b", { path: "README.md" })],
    },
  ],
  [
    {
      role: "assistant",
      content: [
        thinking(""),
        { type: "text", text: "One more …" },
        toolUse("toolu_c", { path: "b", limit: 2 }),
      ],
    },
  ],
  [
    {
      role: "assistant",
      content: [
        { type: "redacted_thinking", data: "EmwKAhgBEgy3va3pzix" },
        { type: "text", text: "It is empty." },
      ],
    },
  ],
  [{ role: "assistant", content: [{ type: "text", text: "You are welcome." }] }],
];

export function functionCall(id: string, call_id: string, args: string): Json {
  return { id, type: "function_call", status: "completed", arguments: args, call_id, name: "read_file" };
}

export function reasoning(id: string, text?: string): Json {
  const summary = text === undefined ? [] : [{ type: "summary_text", text }];
  return { id, type: "reasoning", summary, encrypted_content: `gAAAAA${id}` };
}

export function outputMessage(id: string, text: string, annotations: Json[] = []): Json {
  return {
    id,
    type: "message",
    status: "completed",
    content: [{ type: "output_text", annotations, logprobs: [], text }],
    role: "assistant",
  };
}

/** Reasoning and two calls at once, then a text and a call, then reasoning and the answer with a citation. */
export const responsesReplies: Json[][] = [
  [
    reasoning("rs_1", "Looking"),
    functionCall("fc_1", "call_a", oddArguments),
    functionCall("fc_2", "call_b", plainArguments),
  ],
  [reasoning("rs_2"), outputMessage("msg_1", "One more …"), functionCall("fc_3", "call_c", plainArguments)],
  [
    reasoning("rs_3", "Done"),
    outputMessage("msg_2", "It is empty.", [
      { type: "url_citation", start_index: 0, end_index: 2, url: "https://example.com/", title: "Example" },
    ]),
  ],
  [outputMessage("msg_3", "You are welcome.")],
];
