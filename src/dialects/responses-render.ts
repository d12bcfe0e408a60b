/**
 * What OpenAI Responses wants of an item list and a client's items may lack: something behind every reasoning
 * item, a message that says something, and an output of the very type that its call wants. All else goes out
 * as it came.
 */
import { utf8Bytes } from "../log/json-edit.ts";
import type { RenderItem } from "./dialect.ts";
import { optionalString } from "./fields.ts";
import { answeredCall, fieldsOfItem, typeOfItem } from "./responses-read.ts";
import { callTypes } from "./responses-types.ts";

interface Known {
  item: RenderItem;
  type: string;
  /** The call that the item makes or answers. */
  call: string;
  text: string | undefined;
}

function known(item: RenderItem): Known {
  const fields = fieldsOfItem(item.bytes);
  const type = typeOfItem(item.bytes, fields);
  const call = optionalString(item.bytes, answeredCall(item.bytes, fields, type)) ?? "";
  return { item, type, call, text: optionalString(item.bytes, fields.output) };
}

/** The same words as an output of another type; nothing where that type has no place for words. */
function outputAs(type: string, call: string, text: string): object | undefined {
  const outcome = { type: "exit", exit_code: 1 };
  switch (type) {
    case "custom_tool_call_output":
      return { type, call_id: call, output: text };
    case "local_shell_call_output":
      return { type, id: call, call_id: call, output: text };
    case "shell_call_output":
      return { type, call_id: call, output: [{ stdout: "", stderr: text, outcome }] };
    case "apply_patch_call_output":
      return { type, call_id: call, status: "failed", output: text };
    case "tool_search_output":
      return { type, call_id: call, execution: "client", tools: [] };
    default:
      return undefined;
  }
}

/** An item that goes out. */
type Sent = Pick<Known, "type"> & Pick<RenderItem, "role" | "bytes">;

/**
 * An output that Plimsoll wrote for an open call is a function's; a call of another type gets its own. A
 * call that only an image could answer is left out together with the output.
 */
function matched(items: readonly Known[]): Sent[] {
  const out: (Sent | undefined)[] = [];
  const open = new Map<string, { index: number; wants: string }>();
  for (const { item, type, call, text } of items) {
    const { role, bytes } = item;
    const wants = callTypes.get(type)?.output;
    if (wants !== undefined && call !== "") open.set(call, { index: out.length, wants });
    const caller = type === "function_call_output" ? open.get(call) : undefined;
    if (caller === undefined || caller.wants === type) {
      out.push({ type, role, bytes });
      continue;
    }
    const other = outputAs(caller.wants, call, text ?? "");
    if (other !== undefined) out.push({ type, role, bytes: utf8Bytes(JSON.stringify(other)) });
    else out[caller.index] = undefined;
  }
  return out.filter((item) => item !== undefined);
}

/** See `Dialect.render`. */
export function renderResponses(items: readonly RenderItem[]): Uint8Array[] {
  const full = items.filter(({ bytes, mend }) => bytes.length > 0 && !mend).map(known);
  const out: Uint8Array[] = [];
  // From behind: a reasoning item stays when an item of the same reply stands right behind it.
  let followed = false;
  for (const { type, role, bytes } of matched(full).reverse()) {
    if (type === "reasoning" && !followed) continue;
    out.push(bytes);
    followed = role === "assistant";
  }
  return out.reverse();
}
