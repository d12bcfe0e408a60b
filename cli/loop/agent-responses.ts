import type OpenAI from "openai";
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
} from "openai/resources/responses/responses";
import type { Loop, LoopTools } from "./agent.ts";
import { openaiClient } from "./agent-chat.ts";
import { toolSchema, tools } from "./tool-schemas.ts";

const functions = tools.map((tool) => ({
  type: "function" as const,
  ...tool,
  parameters: toolSchema,
  strict: false,
}));

/** Responses by OpenAI's client: the whole output is sent back, or the server is told where to go on. */
export const responsesLoop: Loop = async (loop) => {
  const client = openaiClient(loop);
  const stored = loop.options.agent === "openai-responses-stored";
  const history = loop.start<ResponseInputItem>([]);
  let entering = history;
  let previous: string | undefined;
  while (loop.next()) {
    const { output, usage, id, status } = await ask(client, {
      input: stored ? entering : history,
      previous: stored ? previous : undefined,
      loop,
    });
    previous = id;
    entering = [];
    for (const item of output) {
      if (item.type !== "function_call") continue;
      const answer = loop.run(item.name, item.arguments);
      entering.push({ type: "function_call_output", call_id: item.call_id, output: answer });
    }
    const calls = entering.length;
    history.push(...(output as ResponseInputItem[]), ...entering);
    const { input_tokens = 0, output_tokens = 0 } = usage ?? {};
    await loop.answered({ input: input_tokens, output: output_tokens, messages: history });
    if (status === "incomplete") throw new Error("the answer is incomplete");
    if (calls === 0) return textsOf(output);
  }
  return "";
};

/** `output_text` is the client's own addition and missing from a streamed response. */
function textsOf(output: Response["output"]): string {
  return output
    .flatMap((item) => (item.type === "message" ? item.content : []))
    .map((part) => (part.type === "output_text" ? part.text : ""))
    .join("");
}

interface Question {
  input: ResponseInputItem[];
  previous: string | undefined;
  loop: LoopTools;
}

function ask(client: OpenAI, { input, previous, loop }: Question): Promise<Response> {
  const { agent, model = "strict-1", maxOutput, stream = false, signal } = loop.options;
  const request = {
    model,
    instructions: loop.system,
    input,
    tools: functions,
    store: agent === "openai-responses-stored",
    include: ["reasoning.encrypted_content" as const],
    ...(previous === undefined ? {} : { previous_response_id: previous }),
    ...(maxOutput === undefined ? {} : { max_output_tokens: maxOutput }),
  };
  const more = signal === undefined ? {} : { signal };
  return stream ? streamed(client, request, more) : client.responses.create(request, more);
}

/**
 * The response as the terminal event brings it. The helper `responses.stream()` is not used: it adds
 * `parsed_arguments` to the items, a parameter that the API does not know when they are sent back.
 */
async function streamed(
  client: OpenAI,
  request: ResponseCreateParamsNonStreaming,
  more: { signal?: AbortSignal },
): Promise<Response> {
  for await (const event of await client.responses.create({ ...request, stream: true }, more)) {
    if (event.type === "response.completed" || event.type === "response.incomplete") return event.response;
    if (event.type === "response.failed")
      throw new Error(event.response.error?.message ?? "the response failed");
  }
  throw new Error("the stream ended before its response");
}
