/** Native messages of every dialect for random conversations: each text is unlike every other, each size as asked. */
import type { DialectName } from "../../src/dialects/dialect.ts";

export interface Spoken {
  text: string;
  calls: readonly string[];
  /** A signature, for a message that begins with signed thinking. */
  signature?: string | undefined;
}

export interface Talk {
  user(text: string, media?: boolean): object;
  /** One reply: one message, or the items that one reply consists of. */
  assistant(spoken: Spoken): object[];
  /** The messages that answer these calls: one each, or one for all where the dialect can. */
  results(
    ids: readonly string[],
    text: string,
    how: { joined: boolean; media: boolean; says: boolean },
  ): object[];
  system(text: string): object;
  usage(input: number, output: number): object;
}

const url = "data:image/png;base64,AAAA";

const openai: Talk = {
  user: (text, media = false) => ({
    role: "user",
    content: media
      ? [
          { type: "text", text },
          { type: "image_url", image_url: { url } },
        ]
      : text,
  }),
  assistant: ({ text, calls }) => [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(openaiCall) }),
    },
  ],
  results: (ids, text) => ids.map((id) => ({ role: "tool", tool_call_id: id, content: `${id}: ${text}` })),
  system: (text) => ({ role: "developer", content: text }),
  usage: (input, output) => ({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
  }),
};

function openaiCall(id: string): object {
  return { id, type: "function", function: { name: "run", arguments: JSON.stringify({ path: id }) } };
}

const anthropic: Talk = {
  user: (text, media = false) => ({
    role: "user",
    content: media
      ? [
          { type: "text", text },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
        ]
      : text,
  }),
  assistant: ({ text, calls, signature }) => [
    {
      role: "assistant",
      content: [
        ...(signature === undefined
          ? []
          : [{ type: "thinking", thinking: `On ${text.slice(0, 20)}`, signature }]),
        ...(text === "" ? [] : [{ type: "text", text }]),
        ...calls.map((id) => ({ type: "tool_use", id, name: "run", input: { path: id } })),
      ],
    },
  ],
  results: (ids, text, { joined, media, says }) => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const blocks = ids.map((id) => ({
      type: "tool_result",
      tool_use_id: id,
      content: media ? [{ type: "text", text: `${id}: ${text}` }, image] : `${id}: ${text}`,
    }));
    if (!joined) return blocks.map((block) => ({ role: "user", content: [block] }));
    return [{ role: "user", content: says ? [...blocks, { type: "text", text: "And go on." }] : blocks }];
  },
  system: (text) => ({ role: "system", content: text }),
  usage: (input, output) => ({ input_tokens: input, output_tokens: output }),
};

const responses: Talk = {
  user: (text, media = false) => ({
    role: "user",
    content: media
      ? [
          { type: "input_text", text },
          { type: "input_image", image_url: url, detail: "auto" },
        ]
      : text,
  }),
  assistant: ({ text, calls }) => [
    { type: "reasoning", id: `rs_${text.length}`, summary: [], encrypted_content: "e" },
    ...(text === ""
      ? []
      : [{ type: "message", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] }]),
    ...calls.map((id) => ({
      type: "function_call",
      call_id: id,
      name: "run",
      arguments: JSON.stringify({ path: id }),
    })),
  ],
  results: (ids, text) =>
    ids.map((id) => ({ type: "function_call_output", call_id: id, output: `${id}: ${text}` })),
  system: (text) => ({ role: "developer", content: text }),
  usage: (input, output) => ({
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
  }),
};

export const talks: Record<DialectName, Talk> = {
  "openai-chat": openai,
  anthropic,
  "openai-responses": responses,
};

/** A text of about this many characters that begins with its name. */
export function words(name: string, size: number): string {
  const filler = ` ${name} does the work of the day, line by line, and says what it found.`;
  return (name + filler.repeat(Math.ceil(size / filler.length))).slice(0, Math.max(name.length, size));
}

/** The bytes as a client may write them: compact, or spread over lines. */
export function bytesOf(message: object, spread: boolean): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(message, null, spread ? 1 : 0));
}
