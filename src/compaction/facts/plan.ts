/**
 * The newest task list of a session, from calls that carry one whole or change one item of it. Knows no tool
 * by name.
 */
import { jsonBytes, oneLine } from "../clip.ts";
import { type StoredText, storedText } from "./stored-text.ts";

export type PlanState = "open" | "doing" | "done" | "dropped";

export interface PlanItem {
  text: string;
  state: PlanState;
  /** The harness's own id of the item, where it works with ids. */
  id?: string;
}

/** A plan written as prose and accepted. */
export interface PlanText extends StoredText {
  seq: number;
}

export type PlanChange =
  | { kind: "list"; items: PlanItem[] }
  | { kind: "add"; item: PlanItem }
  | { kind: "state"; id: string; state: PlanState }
  | { kind: "text"; text: string };

const MAX_ITEMS = 48;
const MAX_ITEM = 160;
const MAX_BYTES = 1_792;
const MAX_TEXT_BYTES = 1_024;

const textKeys = ["content", "step", "text", "title", "task", "subject", "description"] as const;
const stateKeys = ["status", "state", "done", "completed", "checked"] as const;

type Args = Record<string, unknown>;

/** The change of a task list that a call's arguments describe, or undefined when they describe none. */
export function planChange(name: string, args: Args): PlanChange | undefined {
  for (const value of Object.values(args)) {
    if (Array.isArray(value) && value.length > 0) {
      const items = value.slice(0, 512).map(planItem);
      if (items.every((item) => item !== undefined)) return { kind: "list", items };
    }
  }
  const id = args.taskId ?? args.task_id ?? args.todoId ?? args.todo_id;
  const state = stateOf(args);
  if ((typeof id === "string" || typeof id === "number") && state !== undefined) {
    return { kind: "state", id: String(id), state };
  }
  if (/task_?create|todo_?add|create_?(?:task|todo)|add_?(?:task|todo)/i.test(name)) {
    const text = textOf(args);
    return text === undefined ? undefined : { kind: "add", item: { text, state: state ?? "open" } };
  }
  const plan = args.plan;
  if (typeof plan === "string" && plan.trim() !== "") return { kind: "text", text: plan };
  return undefined;
}

function planItem(value: unknown): PlanItem | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const args = value as Args;
  const text = textOf(args);
  const state = stateOf(args);
  if (text === undefined || state === undefined) return undefined;
  return typeof args.id === "string" || typeof args.id === "number"
    ? { text, state, id: oneLine(String(args.id), 32) }
    : { text, state };
}

function textOf(args: Args): string | undefined {
  for (const key of textKeys) {
    const value = args[key];
    if (typeof value === "string" && value.trim() !== "") return oneLine(value, MAX_ITEM);
  }
  return undefined;
}

function stateOf(args: Args): PlanState | undefined {
  for (const key of stateKeys) {
    const value = args[key];
    if (typeof value === "boolean") return value ? "done" : "open";
    if (typeof value === "string") return stateNamed(value);
  }
  return undefined;
}

function stateNamed(word: string): PlanState {
  const name = word.slice(0, 32).toLowerCase();
  if (/^(?:done|complete|finish|closed|resolved|success)/.test(name)) return "done";
  if (/progress|doing|active|started|running/.test(name)) return "doing";
  if (/^(?:cancel|drop|skip|delete|reject|abandon)/.test(name)) return "dropped";
  return "open";
}

/**
 * The list after a change. `given` is the text of the call's result: it may tell the id of an item that was
 * added.
 */
export function changedPlan(items: readonly PlanItem[], change: PlanChange, given: string): PlanItem[] {
  if (change.kind === "list") return change.items;
  if (change.kind === "add") {
    const id = /#(\d{1,9})\b/.exec(given.slice(0, 256))?.[1];
    return [...items.slice(-512), id === undefined ? change.item : { ...change.item, id }];
  }
  if (change.kind === "state") {
    return items.map((item) => (item.id === change.id ? { ...item, state: change.state } : item));
  }
  return [...items];
}

export function planText(seq: number, text: string): PlanText {
  return { seq, ...storedText({ text }, MAX_TEXT_BYTES) };
}

/** The items that fit, and how many do not: finished ones go first, the oldest before younger ones. */
export function boundedPlan(items: readonly PlanItem[]): { plan: PlanItem[]; dropped: number } {
  const cost = (item: PlanItem): number => jsonBytes(item.text) + jsonBytes(item.id ?? "") + 40;
  let bytes = items.reduce((sum, item) => sum + cost(item), 0);
  let surplus = items.length - MAX_ITEMS;
  const gone = new Set<PlanItem>();
  const order = [...items.filter(isOver), ...items.filter((item) => !isOver(item)).reverse()];
  for (const item of order) {
    if (surplus <= 0 && bytes <= MAX_BYTES) break;
    gone.add(item);
    bytes -= cost(item);
    surplus--;
  }
  return { plan: items.filter((item) => !gone.has(item)), dropped: gone.size };
}

function isOver({ state }: PlanItem): boolean {
  return state === "done" || state === "dropped";
}
