/** The `openai` package, as its users keep a history with it. */
import OpenAI from "openai";
import { zodFunction, zodResponsesFunction } from "openai/helpers/zod";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { ResponseInput, ResponseOutputItem } from "openai/resources/responses/responses";
import { describe, it } from "vitest";
import { z } from "zod";
import { drive } from "./linked.ts";
import type { Provider } from "./provider.ts";
import {
  chatCall,
  chatReplies,
  oddArguments,
  question,
  responsesReplies,
  results,
  toolParameters,
} from "./said.ts";

const model = "gpt-5.5";
const chatTools = [
  {
    type: "function",
    function: { name: "read_file", parameters: toolParameters as unknown as Record<string, unknown> },
  },
] as const;
const responsesTools = [
  {
    type: "function",
    name: "read_file",
    parameters: toolParameters as unknown as Record<string, unknown>,
    strict: false,
  },
] as const;
const parameters = z.object({
  limit: z.number(),
  path: z.string(),
  filter: z.object({ a: z.array(z.string()), z: z.number() }).nullish(),
});

function clientOf({ url }: Provider): OpenAI {
  return new OpenAI({ baseURL: url, apiKey: "key", maxRetries: 0 });
}

/** Asks until nothing is called any more, then thanks. `ask` gives the next assistant message. */
async function chatLoop(
  ask: (messages: ChatCompletionMessageParam[]) => Promise<OpenAI.ChatCompletionMessage>,
) {
  const messages: ChatCompletionMessageParam[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: question },
  ];
  while (true) {
    const message = await ask(messages);
    messages.push(message);
    for (const [i, call] of (message.tool_calls ?? []).entries()) {
      messages.push({ role: "tool", tool_call_id: call.id, content: results[i] ?? "" });
    }
    if (message.tool_calls === undefined || message.tool_calls.length === 0) break;
  }
  messages.push({ role: "user", content: [{ type: "text", text: "Thank you" }] });
  await ask(messages);
}

describe("openai, chat completions", () => {
  it("pushes the message of a completion", () =>
    drive("openai-chat", chatReplies, (provider) => {
      const client = clientOf(provider);
      return chatLoop(async (messages) => {
        const completion = await client.chat.completions.create({ model, messages, tools: [...chatTools] });
        return completion.choices[0]!.message;
      });
    }));

  it("pushes the message that a stream was gathered to", () =>
    drive("openai-chat", chatReplies, (provider) => {
      const client = clientOf(provider);
      return chatLoop(async (messages) => {
        const stream = client.chat.completions.stream({ model, messages, tools: [...chatTools] });
        return await stream.finalMessage();
      });
    }));

  it("pushes a parsed message with parsed arguments", () =>
    drive("openai-chat", chatReplies, (provider) => {
      const client = clientOf(provider);
      return chatLoop(async (messages) => {
        const tools = [zodFunction({ name: "read_file", parameters })];
        const completion = await client.chat.completions.parse({ model, messages, tools });
        return completion.choices[0]!.message;
      });
    }));

  it.each([false, true])("runs tools by itself, stream %s", async (stream) => {
    await drive("openai-chat", chatReplies.slice(0, 3), async (provider) => {
      const runnable = {
        type: "function" as const,
        function: {
          name: "read_file",
          parse: JSON.parse,
          parameters: toolParameters,
          function: () => results[0],
        },
      };
      const messages = [{ role: "user" as const, content: question }];
      const options = { model, messages, tools: [runnable] };
      const runner = stream
        ? clientOf(provider).chat.completions.runTools({ ...options, stream: true } as never)
        : clientOf(provider).chat.completions.runTools(options as never);
      await runner.finalContent();
    });
  });

  it("pushes what a compatible server adds: reasoning, an index, a thought signature, a refusal, empty arguments", () =>
    drive(
      "openai-chat",
      [
        [
          {
            role: "assistant",
            content: "",
            reasoning_content: "hm",
            reasoning_details: [{ type: "reasoning.text", text: "hm", index: 0 }],
            tool_calls: [
              {
                ...chatCall("call_a", oddArguments),
                index: 0,
                extra_content: { google: { thought_signature: "x" } },
              },
              { ...chatCall("call_b", ""), index: 1 },
            ],
          },
        ],
        [{ role: "assistant", content: null, refusal: "I can not do that." }],
        [{ role: "assistant", content: "So be it.", function_call: null, audio: null }],
      ],
      (provider) => {
        const client = clientOf(provider);
        return chatLoop(async (messages) => {
          const completion = await client.chat.completions.create({ model, messages, tools: [...chatTools] });
          return completion.choices[0]!.message;
        });
      },
    ));
});

type Item = ResponseInput[number];

async function responsesLoop(
  ask: (input: ResponseInput) => Promise<ResponseOutputItem[]>,
  keep = (item: Item) => item,
) {
  const input: ResponseInput = [{ role: "user", content: question }];
  while (true) {
    const output = await ask(input);
    input.push(...output.map((item) => keep(item as Item)));
    const calls = output.filter((item) => item.type === "function_call");
    for (const [i, call] of calls.entries()) {
      input.push({ type: "function_call_output", call_id: call.call_id, output: results[i] ?? "" });
    }
    if (calls.length === 0) break;
  }
  input.push({ role: "user", content: [{ type: "input_text", text: "Thank you" }] });
  await ask(input);
}

describe("openai, responses", () => {
  it("pushes the output of a response", () =>
    drive("openai-responses", responsesReplies, (provider) => {
      const client = clientOf(provider);
      return responsesLoop(async (input) => {
        const response = await client.responses.create({
          model,
          input,
          tools: [...responsesTools],
          store: false,
        });
        return response.output;
      });
    }));

  it("pushes the output of a stream", () =>
    drive("openai-responses", responsesReplies, (provider) => {
      const client = clientOf(provider);
      return responsesLoop(async (input) => {
        const stream = client.responses.stream({ model, input, tools: [...responsesTools], store: false });
        return (await stream.finalResponse()).output;
      });
    }));

  it("pushes parsed output", () =>
    drive("openai-responses", responsesReplies, (provider) => {
      const client = clientOf(provider);
      return responsesLoop(async (input) => {
        const tools = [zodResponsesFunction({ name: "read_file", parameters })];
        return (await client.responses.parse({ model, input, tools })).output as ResponseOutputItem[];
      });
    }));

  it("drops ids and reasoning, or names items by reference", async () => {
    const ask = (provider: Provider) => async (input: ResponseInput) =>
      (await clientOf(provider).responses.create({ model, input, tools: [...responsesTools] })).output;
    await drive("openai-responses", responsesReplies, (provider) =>
      responsesLoop(ask(provider), (item) => {
        const { id: _id, status: _status, ...rest } = item as { id?: string; status?: string };
        return rest as Item;
      }),
    );
    await drive("openai-responses", responsesReplies, (provider) =>
      responsesLoop(ask(provider), (item) => ({ type: "item_reference", id: (item as { id: string }).id })),
    );
  });

  it("keeps an answer as a plain message", () =>
    drive("openai-responses", responsesReplies.slice(2), async (provider) => {
      const client = clientOf(provider);
      const first = await client.responses.create({ model, input: question });
      await client.responses.create({
        model,
        input: [
          { role: "user", content: question },
          { role: "assistant", content: first.output_text },
          { role: "user", content: "Thank you" },
        ],
      });
    }));
});
