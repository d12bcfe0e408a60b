/**
 * Agent loops over the vendors' own clients: ask, run the tools that the model calls, send everything back,
 * until the model answers without a call. What is re-sent is exactly what the client gave.
 */
import { isObject } from "../import/session.ts";
import { aiLoop } from "./agent-ai.ts";
import { anthropicLoop } from "./agent-anthropic.ts";
import { chatLoop } from "./agent-chat.ts";
import { responsesLoop } from "./agent-responses.ts";
import { type Sizes, taskText, toolResult } from "./task.ts";

export const agentNames = [
  "openai-chat",
  "openai-responses",
  "openai-responses-stored",
  "anthropic",
  "ai-openai-chat",
  "ai-openai-responses",
  "ai-anthropic",
] as const;

/** `…-stored` continues by `previous_response_id`; `ai-…` is the `ai` package over the dialect. */
export type AgentName = (typeof agentNames)[number];

export interface AgentOptions {
  agent: AgentName;
  /** As the vendor's client takes it: OpenAI's with `/v1`, Anthropic's without. */
  baseURL: string;
  apiKey?: string;
  headers?: Record<string, string>;
  model?: string;
  /** Name of the task; two loops that run at once need two. */
  task?: string;
  /** Rounds of tool calls before the final answer. Default 30. */
  rounds?: number;
  /** Parallel calls of a round. Default 1. */
  calls?: number;
  stream?: boolean;
  /** Where to go on: the messages of an earlier result, whole or cut at a legal place. Never changed. */
  history?: readonly unknown[];
  /** False: the history is sent as it stands, without the task's text behind it. Default true. */
  ask?: boolean;
  /** Anthropic: `manual` has a budget, `adaptive` has none. Default off. */
  thinking?: "manual" | "adaptive";
  /** Anthropic: marks tools, system and the newest message. Default false. */
  cacheMarks?: boolean;
  maxOutput?: number;
  sizes?: Sizes;
  system?: string;
  /** Retries by the client itself. Default 0. */
  retries?: number;
  /** Per request, of the client. Default ten minutes. */
  timeoutMs?: number;
  /** Gives up when so many requests were made. */
  abortAfter?: number;
  signal?: AbortSignal;
  /** Told of each answer; may change the history in place to play a client that edits it. */
  onStep?: (step: AgentStep) => void | Promise<void>;
}

export interface AgentStep {
  /** From 1. */
  request: number;
  /** Input tokens as the provider reported them, cache reads included. */
  input: number;
  output: number;
  messages: unknown[];
}

/** An error that ended a loop, as the client's exception shows it. */
export interface AgentError {
  /** The request that failed, from 1. */
  request: number;
  status: number | undefined;
  code: string | undefined;
  message: string;
}

export interface AgentResult {
  /** The model gave the final answer of this task. */
  finished: boolean;
  answer: string;
  /** Steps of the loop that were asked for; the client's own retries do not count. */
  requests: number;
  errors: AgentError[];
  /** The history as it would be sent next. */
  messages: unknown[];
  /** Input tokens of each answered request, in order. */
  inputs: number[];
}

/** What a loop over one client needs; each is given the whole options. */
export interface LoopTools {
  options: AgentOptions;
  system: string;
  /** The first request's messages: the history, else `opening`; the task as a user message behind it. */
  start<Message>(opening: readonly Message[]): Message[];
  /** Answers a call; arguments as the client gives them, text or value. */
  run(name: string, args: unknown): string;
  /** To be called before each request; false: the loop is over. */
  next(): boolean;
  answered(step: Omit<AgentStep, "request">): Promise<void>;
}

export type Loop = (tools: LoopTools) => Promise<string>;

const loops: Record<AgentName, Loop> = {
  "openai-chat": chatLoop,
  "openai-responses": responsesLoop,
  "openai-responses-stored": responsesLoop,
  anthropic: anthropicLoop,
  "ai-openai-chat": aiLoop,
  "ai-openai-responses": aiLoop,
  "ai-anthropic": aiLoop,
};

export const defaultSystem = "You are a careful agent. Use the tools, one round after the other.";

/** Plays one task to its end or to the first error that the client throws. Never throws for that. */
export async function runAgent(options: AgentOptions): Promise<AgentResult> {
  const { task = "T1", rounds = 30, calls = 1 } = options;
  const result: AgentResult = {
    finished: false,
    answer: "",
    requests: 0,
    errors: [],
    messages: [],
    inputs: [],
  };
  const tools: LoopTools = {
    options,
    system: options.system ?? defaultSystem,
    start<Message>(opening: readonly Message[]) {
      const before = (options.history ?? opening) as readonly Message[];
      const question = { role: "user", content: taskText({ task, rounds, calls }) } as Message;
      return options.ask === false ? [...before] : [...before, question];
    },
    run: (_name, args) => toolResult(typeof args === "string" ? JSON.parse(args) : args, options.sizes),
    next() {
      if (options.abortAfter !== undefined && result.requests >= options.abortAfter) return false;
      if (options.signal?.aborted === true) return false;
      result.requests++;
      return true;
    },
    async answered(step) {
      result.inputs.push(step.input);
      result.messages = step.messages;
      await options.onStep?.({ request: result.requests, ...step });
    },
  };
  try {
    result.answer = await loops[options.agent](tools);
    result.finished = result.answer.startsWith(`DONE ${task}`);
  } catch (error) {
    result.errors.push(errorOf(error, result.requests));
  }
  return result;
}

type Thrown = Error & {
  status?: number;
  statusCode?: number;
  code?: unknown;
  lastError?: unknown;
  /** OpenAI's inner error; Anthropic's whole body. */
  error?: unknown;
  /** The body, as the `ai` package read it. */
  data?: unknown;
};

/** What the vendors' clients make of an error, in one shape; the provider's own sentence where there is one. */
function errorOf(error: unknown, request: number): AgentError {
  if (!(error instanceof Error))
    return { request, status: undefined, code: undefined, message: String(error) };
  const thrown = error as Thrown;
  // The `ai` package wraps what ended its retries.
  if (thrown.lastError instanceof Error) return errorOf(thrown.lastError, request);
  const body = thrown.data ?? thrown.error;
  const inner = isObject(body) && isObject(body.error) ? body.error : body;
  const { code = thrown.code, message = thrown.message } = isObject(inner) ? inner : {};
  return {
    request,
    status: thrown.status ?? thrown.statusCode,
    code: typeof code === "string" ? code : undefined,
    message: String(message),
  };
}
