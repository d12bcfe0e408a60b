/** Looking into decoded JSON of unknown shape: what is not there reads as undefined or as nothing. */

export type Json = Record<string, unknown>;

/** The objects of an array; no array, no objects. */
export function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(objectOf).filter((one) => one !== undefined) : [];
}

export function objectOf(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null ? (value as Json) : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
