/** A local server that gives one prepared answer, and the replies that the official clients read from it. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { errorShape } from "../../src/dialects/error-shape.ts";
import type { WireDialect } from "../../src/dialects/wire.ts";
import { concat, utf8Bytes } from "../../src/log/json-edit.ts";
import { overflowError, pingFrame } from "../../src/providers/reply/errors.ts";
import { renderReply } from "../../src/providers/reply/render.ts";
import type { StoredReply } from "../../src/providers/reply/reply.ts";

export const args = '{"path": "a", "n": 1.50}';
export const messages = [{ role: "user" as const, content: "hi" }];

export const stored = (list: object[], more: Partial<StoredReply>): StoredReply => ({
  choices: [{ index: 0, messages: list.map((one) => utf8Bytes(JSON.stringify(one))) }],
  usage: undefined,
  finish: undefined,
  model: "m-1",
  id: "id_1",
  created: 7,
  ...more,
});

const call = { id: "call_1", type: "function", function: { name: "read", arguments: args } };
export const chatMessage = {
  role: "assistant",
  content: "Hello",
  tool_calls: [call, { ...call, id: "call_2" }],
};
export const chatUsage = {
  prompt_tokens: 9,
  completion_tokens: 4,
  total_tokens: 13,
  prompt_tokens_details: { cached_tokens: 5 },
};
export const chatReply = stored([chatMessage], { usage: chatUsage, finish: "tool_calls" });

export const blocks = [
  { type: "thinking", thinking: "hm", signature: "sig==" },
  { type: "redacted_thinking", data: "xx" },
  { type: "text", text: "Hello", citations: null },
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
  { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
  { type: "tool_use", id: "toolu_1", name: "read", input: { path: "a", n: 1.5 } },
  { type: "tool_use", id: "toolu_2", name: "list", input: {} },
];
export const claudeUsage = {
  input_tokens: 4,
  output_tokens: 6,
  cache_read_input_tokens: 5,
  cache_creation_input_tokens: 0,
};
export const claudeReply = stored([{ role: "assistant", content: blocks }], {
  usage: claudeUsage,
  finish: "tool_use",
});

export const items = [
  {
    type: "reasoning",
    id: "rs_1",
    summary: [{ type: "summary_text", text: "hm" }],
    encrypted_content: "enc",
  },
  {
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "Hello", annotations: [] }],
  },
  {
    type: "function_call",
    id: "fc_1",
    call_id: "call_1",
    name: "read",
    arguments: args,
    status: "completed",
  },
];
export const itemsUsage = {
  input_tokens: 9,
  output_tokens: 4,
  total_tokens: 13,
  input_tokens_details: { cached_tokens: 5 },
  output_tokens_details: { reasoning_tokens: 2 },
};
export const itemsReply = stored(items, { usage: itemsUsage, finish: "completed" });

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array;
}

export class ReplyServer {
  readonly #server: Server;
  #answer: Answer = { status: 500, headers: {}, body: utf8Bytes("{}") };
  origin = "";
  requests = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      this.requests++;
      request.resume();
      request.on("end", () => {
        const { status, headers, body } = this.#answer;
        response.writeHead(status, headers);
        // In two pieces, so that no client sees a stream at once.
        const half = body.length >> 1;
        response.write(body.subarray(0, half));
        setImmediate(() => response.end(body.subarray(half)));
      });
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  give(body: Uint8Array, stream: boolean): void {
    const type = stream ? "text/event-stream" : "application/json";
    this.#answer = { status: 200, headers: { "content-type": type }, body };
  }

  /** Refuses with this status and our own words, and asks for no retry. */
  refuse(status: number, body: object): void {
    const headers = { "content-type": "application/json", "x-should-retry": "false" };
    this.#answer = { status, headers, body: utf8Bytes(JSON.stringify(body)) };
  }

  refuseSize(dialect: WireDialect): void {
    const said = overflowError(dialect, { tokens: 210_000, limit: 200_000 });
    const { status } = said;
    const body = errorShape(dialect, said);
    this.refuse(status, body);
  }

  /** A stored reply; a ping before the stream and one in its midst must not be seen. */
  replay(dialect: WireDialect, reply: StoredReply, stream: boolean): void {
    const body = renderReply(dialect, reply, { stream, includeUsage: true });
    const end = frameBorder(body, body.length >> 1);
    const ping = pingFrame(dialect);
    this.give(stream ? concat([ping, body.subarray(0, end), ping, body.subarray(end)]) : body, stream);
  }
}

/** The last border between frames before this place. */
function frameBorder(body: Uint8Array, at: number): number {
  for (let i = at; i > 0; i--) if (body[i] === 0x0a && body[i - 1] === 0x0a) return i + 1;
  return 0;
}
