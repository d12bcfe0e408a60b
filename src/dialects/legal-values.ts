/** Decoded values as the legality checks look at them. */
export type Value = Record<string, unknown>;
export type Report = (at: number, rule: string) => void;

export function isObject(value: unknown): value is Value {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function list(value: unknown): Value[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function isEmptyContent(content: unknown): boolean {
  return (
    content === undefined ||
    content === null ||
    content === "" ||
    (Array.isArray(content) && content.length === 0)
  );
}
