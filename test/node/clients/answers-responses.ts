/** Replies of OpenAI Responses around prepared output items. */
import { type Json, pieces, type Said, type StreamEvent } from "./provider.ts";

let replies = 0;

function response(body: Json, status: string, output: Said): Json {
  const done = status === "completed";
  return {
    id: `resp_${replies}`,
    object: "response",
    created_at: 1_790_000_000,
    status,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: null,
    model: body.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: "medium", summary: null },
    store: body.store ?? true,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: body.tools ?? [],
    top_p: 1,
    truncation: "disabled",
    usage: done
      ? {
          input_tokens: 120,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 30,
          output_tokens_details: { reasoning_tokens: 10 },
          total_tokens: 150,
        }
      : null,
    user: null,
    metadata: {},
  };
}

export function responsesAnswer(said: Said, body: Json): Json {
  replies++;
  return response(body, "completed", said);
}

export function responsesStream(said: Said, body: Json): StreamEvent[] {
  replies++;
  const events: StreamEvent[] = [];
  const say = (type: string, data: Json) =>
    void events.push([type, { type, sequence_number: events.length, ...data }]);
  say("response.created", { response: response(body, "in_progress", []) });
  say("response.in_progress", { response: response(body, "in_progress", []) });
  for (const [output_index, item] of said.entries()) streamItem(say, output_index, item);
  say("response.completed", { response: response(body, "completed", said) });
  return events;
}

type Say = (type: string, data: Json) => void;

function streamItem(say: Say, output_index: number, item: Json): void {
  const at = { output_index, item_id: item.id };
  const opened = { ...item, ...(item.status === undefined ? {} : { status: "in_progress" }) };
  if (item.type === "function_call") {
    say("response.output_item.added", { output_index, item: { ...opened, arguments: "" } });
    const whole = item.arguments as string;
    for (const delta of pieces(whole)) say("response.function_call_arguments.delta", { ...at, delta });
    say("response.function_call_arguments.done", { ...at, name: item.name, arguments: whole });
  } else if (item.type === "message") {
    say("response.output_item.added", { output_index, item: { ...opened, content: [] } });
    for (const [content_index, part] of (item.content as Json[]).entries()) {
      const place = { ...at, content_index };
      say("response.content_part.added", { ...place, part: { ...part, text: "", annotations: [] } });
      for (const delta of pieces(part.text as string)) {
        say("response.output_text.delta", { ...place, delta, logprobs: [] });
      }
      for (const [annotation_index, annotation] of ((part.annotations ?? []) as Json[]).entries()) {
        say("response.output_text.annotation.added", { ...place, annotation_index, annotation });
      }
      say("response.output_text.done", { ...place, text: part.text, logprobs: [] });
      say("response.content_part.done", { ...place, part });
    }
  } else if (item.type === "reasoning") {
    say("response.output_item.added", { output_index, item: { ...opened, summary: [] } });
    for (const [summary_index, part] of (item.summary as Json[]).entries()) {
      const place = { ...at, summary_index };
      say("response.reasoning_summary_part.added", { ...place, part: { type: "summary_text", text: "" } });
      for (const delta of pieces(part.text as string)) {
        say("response.reasoning_summary_text.delta", { ...place, delta });
      }
      say("response.reasoning_summary_text.done", { ...place, text: part.text });
      say("response.reasoning_summary_part.done", { ...place, part });
    }
  } else say("response.output_item.added", { output_index, item: opened });
  say("response.output_item.done", { output_index, item });
}
