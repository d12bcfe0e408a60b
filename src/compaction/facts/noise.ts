/**
 * Tells user messages that a harness wrote from those that a person typed. A guess by wording, so it only
 * ranks: nothing that looks like noise is lost when there is nothing else, and nothing gains or loses
 * authority by it.
 */

/** Elements that make the whole message the harness's own, whatever stands behind them. */
const whole = new Set(["task-notification", "local-command-caveat"]);

/** Elements that harnesses put into user messages. What stands behind them may still be typed. */
const wrappers = new Set([
  "system-reminder",
  "ide_opened_file",
  "ide_selection",
  "environment_context",
  "environment_details",
  "user_instructions",
  "command-name",
  "command-message",
  "command-args",
  "command-contents",
  "local-command-stdout",
  "local-command-stderr",
  "bash-stdout",
  "bash-stderr",
  "user-prompt-submit-hook",
  "compacted-summary",
]);

const openings = [
  "caveat: the messages below were generated",
  "this session is being continued from a previous",
  "[request interrupted by user",
  "base directory for this skill:",
  "# agents.md instructions",
  "the conversation history before this point",
];

/** Wrappers in front of a text that are looked at, so that a message of nothing but tags stays cheap. */
const MAX_WRAPPERS = 32;

/** Whether a user message looks like the harness's own and holds nothing that a person typed. */
export function isNoise(text: string): boolean {
  let at = 0;
  for (let n = 0; n < MAX_WRAPPERS; n++) {
    at = skipSpace(text, at);
    if (at >= text.length) return true;
    const end = wrapperEnd(text, at);
    if (end === undefined) break;
    at = end;
  }
  const start = text.slice(at, at + 64).toLowerCase();
  return openings.some((opening) => start.startsWith(opening));
}

/** The place behind the wrapper element that starts at `at`; undefined when none does. */
function wrapperEnd(text: string, at: number): number | undefined {
  if (text[at] !== "<") return undefined;
  const name = /^<([a-z][a-z_-]{2,31})[ >]/.exec(text.slice(at, at + 40))?.[1];
  if (name !== undefined && whole.has(name)) return text.length;
  if (name === undefined || !wrappers.has(name)) return undefined;
  const close = `</${name}>`;
  const end = text.indexOf(close, at);
  return end < 0 ? text.length : end + close.length;
}

function skipSpace(text: string, at: number): number {
  let place = at;
  while (place < text.length && text[place]!.trim() === "") place++;
  return place;
}

const firmWords = new RegExp(
  "\\b(?:don'?t|do not|never|always|must|instead|wrong|actually|stop|revert|undo|only|prefer|avoid|keep|" +
    "remember|make sure|not what|no longer|should(?:n'?t)?)\\b|^no\\b|不要|别再|必须|应该|不对|" +
    "改成|而是|记住|只能|nicht|kein|immer|statt",
  "i",
);

/** A correction or a standing rule, by its words: kept longer than other requests of the same age. */
export function isFirm(text: string): boolean {
  return firmWords.test(text.slice(0, 400));
}
