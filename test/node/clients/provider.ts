/**
 * A provider over real HTTP for real clients: it answers with prepared messages in the shape of its dialect, streaming or not as
 * the request asks, and keeps what it was asked, byte for byte.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { WireDialect } from "../../../src/dialects/wire.ts";
import { elements, locate, scanDocument } from "../../../src/log/scanner.ts";
import { anthropicAnswer, anthropicStream } from "./answers-anthropic.ts";
import { chatAnswer, chatStream } from "./answers-chat.ts";
import { responsesAnswer, responsesStream } from "./answers-responses.ts";

/** A JSON object as a provider or a client writes it. */
export type Json = { [key: string]: unknown };

/** One reply: an assistant message (Chat), an assistant message with blocks (Anthropic), or output items (Responses). */
export type Said = readonly Json[];

/** An event of a stream: its name where the dialect names events, and its data. */
export type StreamEvent = readonly [name: string | undefined, data: Json | "[DONE]"];

export interface Exchange {
  body: Json;
  /** The messages or items of the request as they came. */
  sent: Uint8Array[];
  said: Said;
}

export interface Provider {
  url: string;
  exchanges: Exchange[];
  close(): Promise<void>;
}

const answers: Record<WireDialect, (said: Said, body: Json) => Json> = {
  "openai-chat": chatAnswer,
  "openai-responses": responsesAnswer,
  anthropic: anthropicAnswer,
};
const streams: Record<WireDialect, (said: Said, body: Json) => StreamEvent[]> = {
  "openai-chat": chatStream,
  "openai-responses": responsesStream,
  anthropic: anthropicStream,
};

const nothingLeft = {
  type: "error",
  error: { type: "invalid_request_error", message: "no reply is left", code: null, param: null },
};
/**
 * Conversations that the server keeps (Anthropic's `thread`) send only what is new. After this refusal the official client goes on
 * with whole histories.
 */
const threadsRefused = {
  type: "error",
  error: {
    type: "invalid_request_error",
    message: "thread: not supported here.",
    details: { error_code: "thread_unsupported_request", unsupported: ["thread"] },
  },
};

/** Starts a provider that gives these replies in turn; one more request than replies is refused. */
export async function startProvider(dialect: WireDialect, replies: readonly Said[]): Promise<Provider> {
  const exchanges: Exchange[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((bytes) => {
      const body = JSON.parse(bytes.toString("utf8")) as Json;
      const refused = body.thread === undefined ? undefined : threadsRefused;
      const said = refused === undefined ? replies[exchanges.length] : undefined;
      const streaming = said !== undefined && body.stream === true;
      response.writeHead(said === undefined ? 400 : 200, {
        "content-type": streaming ? "text/event-stream" : "application/json",
      });
      if (said === undefined) response.end(JSON.stringify(refused ?? nothingLeft));
      else if (streaming) response.end(streams[dialect](said, body).map(frame).join(""));
      else response.end(JSON.stringify(answers[dialect](said, body)));
      if (refused === undefined) exchanges.push({ body, sent: listOf(dialect, bytes), said: said ?? [] });
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    exchanges,
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

function listOf(dialect: WireDialect, body: Uint8Array): Uint8Array[] {
  scanDocument(body);
  const list = locate(body, [dialect === "openai-responses" ? "input" : "messages"]);
  if (list === undefined) return [];
  if (body[list.start] !== 0x5b) return [body.subarray(list.start, list.end)];
  return Array.from(elements(body, list.start), ({ start, end }) => body.subarray(start, end));
}

function frame([name, data]: StreamEvent): string {
  const event = name === undefined ? "" : `event: ${name}\n`;
  return `${event}data: ${data === "[DONE]" ? data : JSON.stringify(data)}\n\n`;
}

/** A text in pieces, as streams give it. */
export function pieces(text: string, size = 7): string[] {
  const units = [...text];
  return Array.from({ length: Math.ceil(units.length / size) }, (_, i) =>
    units.slice(i * size, (i + 1) * size).join(""),
  );
}
