/** How long a provider asks to be left alone: `retry-after-ms`, or `retry-after` in seconds or as a date (RFC 9110 10.2.3). */

/** Milliseconds; undefined where the headers do not say, or say nothing that can be read. */
export function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const exact = numberIn(headers["retry-after-ms"]);
  if (exact !== undefined) return exact;
  const said = headers["retry-after"];
  const seconds = numberIn(said);
  if (seconds !== undefined) return seconds * 1_000;
  const date = said === undefined ? Number.NaN : Date.parse(said);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}(?:\.\d{1,9})?$/.test(text.trim()) ? Number(text) : undefined;
}
