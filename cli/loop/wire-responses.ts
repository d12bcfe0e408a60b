/** A reply as OpenAI Responses puts it on the wire: one object, or its named and numbered events. */
import { itemId, seal } from "./checks-responses.ts";
import type { Json } from "./json.ts";
import { callId, type FakeReply, named, pieces } from "./wire.ts";

/** The whole response object. */
export function responsesBody(reply: FakeReply): Json {
  return responseOf(reply, outputOf(reply));
}

/** The output items of a reply, in order: reasoning, message, calls. */
function outputOf(reply: FakeReply): Json[] {
  const { id = "1", thinking, text, calls } = reply;
  const reasoned = thinking !== undefined;
  const items: Json[] = [];
  const status = "completed";
  if (reasoned)
    items.push({
      id: itemId("rs", id, 0, false),
      type: "reasoning",
      summary: [{ type: "summary_text", text: thinking }],
      encrypted_content: seal(thinking),
    });
  if (text !== "")
    items.push({
      id: itemId("msg", id, 0, reasoned),
      type: "message",
      role: "assistant",
      status,
      content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
    });
  for (const [n, { name, args }] of calls.entries())
    items.push({
      id: itemId("fc", id, n, reasoned),
      type: "function_call",
      call_id: callId("openai-responses", reply, n),
      name,
      arguments: args,
      status,
    });
  return items;
}

function responseOf(reply: FakeReply, output: Json[] | undefined): Json {
  const { usage, model, finish, id = "1" } = reply;
  const input = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: 1,
    status: output === undefined ? "in_progress" : finish === "length" ? "incomplete" : "completed",
    error: null,
    incomplete_details: output !== undefined && finish === "length" ? { reason: "max_output_tokens" } : null,
    instructions: null,
    metadata: {},
    model,
    output: output ?? [],
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    usage:
      output === undefined
        ? null
        : {
            input_tokens: input,
            input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
            output_tokens: usage.output,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: input + usage.output,
          },
  };
}

export function responsesEvents(reply: FakeReply): string[] {
  const output = outputOf(reply);
  let number = 0;
  const event = (type: string, fields: Json) => named(type, { ...fields, sequence_number: number++ });
  const opening = responseOf(reply, undefined);
  const ending = responseOf(reply, output);
  return [
    event("response.created", { response: opening }),
    event("response.in_progress", { response: opening }),
    ...output.flatMap((item, output_index) => itemEvents(item, output_index, event)),
    event(ending.status === "incomplete" ? "response.incomplete" : "response.completed", {
      response: ending,
    }),
  ];
}

type Event = (type: string, fields: Json) => string;

function itemEvents(item: Json, output_index: number, event: Event): string[] {
  const place = { item_id: item.id, output_index };
  const opened = openedOf(item);
  return [
    event("response.output_item.added", { output_index, item: opened }),
    ...innerEvents(item, place, event),
    event("response.output_item.done", { output_index, item }),
  ];
}

/** An item as it stands when it is announced: nothing in it yet. */
function openedOf(item: Json): Json {
  if (item.type === "message") return { ...item, status: "in_progress", content: [] };
  if (item.type === "function_call") return { ...item, status: "in_progress", arguments: "" };
  return { ...item, summary: [], encrypted_content: "" };
}

function innerEvents(item: Json, place: Json, event: Event): string[] {
  if (item.type === "function_call") {
    const text = String(item.arguments);
    return [
      ...pieces(text).map((delta) => event("response.function_call_arguments.delta", { ...place, delta })),
      event("response.function_call_arguments.done", { ...place, arguments: text, name: item.name }),
    ];
  }
  if (item.type === "message") {
    const [part] = item.content as [Json];
    const inner = { ...place, content_index: 0 };
    const empty = { ...part, text: "" };
    return [
      event("response.content_part.added", { ...inner, part: empty }),
      ...pieces(String(part.text)).map((delta) =>
        event("response.output_text.delta", { ...inner, delta, logprobs: [] }),
      ),
      event("response.output_text.done", { ...inner, text: part.text, logprobs: [] }),
      event("response.content_part.done", { ...inner, part }),
    ];
  }
  const [part] = item.summary as [Json];
  const inner = { ...place, summary_index: 0 };
  return [
    event("response.reasoning_summary_part.added", { ...inner, part: { ...part, text: "" } }),
    ...pieces(String(part.text)).map((delta) =>
      event("response.reasoning_summary_text.delta", { ...inner, delta }),
    ),
    event("response.reasoning_summary_text.done", { ...inner, text: part.text }),
    event("response.reasoning_summary_part.done", { ...inner, part }),
  ];
}
