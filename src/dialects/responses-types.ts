/**
 * The item types of OpenAI Responses (`openai` 7.59, resources/responses): which of them call a tool that the
 * client runs, which bring its result, and in what shape.
 */

/** A call that the client answers. `args`: the member that holds its arguments; a string, or any JSON. */
export interface CallType {
  args: readonly string[];
  /** What the tool is called where the item itself has no name. */
  name?: string;
  output: string;
}

export const callTypes: ReadonlyMap<string, CallType> = new Map([
  ["function_call", { args: ["arguments"], output: "function_call_output" }],
  ["custom_tool_call", { args: ["input"], output: "custom_tool_call_output" }],
  ["local_shell_call", { args: ["action"], name: "local_shell", output: "local_shell_call_output" }],
  ["shell_call", { args: ["action"], name: "shell", output: "shell_call_output" }],
  ["apply_patch_call", { args: ["operation"], name: "apply_patch", output: "apply_patch_call_output" }],
  ["computer_call", { args: ["actions", "action"], name: "computer", output: "computer_call_output" }],
  ["tool_search_call", { args: ["arguments"], name: "tool_search", output: "tool_search_output" }],
]);

export const outputTypes: ReadonlySet<string> = new Set([...callTypes.values()].map(({ output }) => output));

/** Items that are not the model's own words or deeds. Any other type that has no reader counts as the model's. */
export const clientTypes: ReadonlySet<string> = new Set([
  "mcp_approval_response",
  "additional_tools",
  "configuration_update",
]);

export const mediaTypes: ReadonlySet<string> = new Set([
  "input_image",
  "input_file",
  "input_audio",
  "output_audio",
  "computer_screenshot",
]);
