/** One step as a table: what happens, and what is done about it. */
import { describe, expect, it } from "vitest";
import { type Action, newStep, nextAction, type Signal } from "../../src/turn/step.ts";

const frame = (meaning: "quiet" | "opening" | "content" | "terminal" | "garbage"): Signal => ({
  kind: "frame",
  meaning,
});
const refused = (verdict: "overflow" | "binding" | "other"): Signal => ({ kind: "refused", verdict });
const ended: Signal = { kind: "ended", usable: true, overflowed: false };
const empty: Signal = { kind: "ended", usable: false, overflowed: false };
const swallowed: Signal = { kind: "ended", usable: true, overflowed: true };

const rows: [string, Signal[], Action[]][] = [
  [
    "a streamed reply",
    [frame("opening"), frame("content"), frame("content"), frame("terminal"), frame("terminal"), ended],
    ["hold", "pass", "pass", "keep", "keep", "store"],
  ],
  [
    "pings before the reply are held, behind its beginning they pass",
    [frame("quiet"), frame("content"), frame("quiet")],
    ["hold", "pass", "pass"],
  ],
  [
    "an overflow is recovered, and again",
    [refused("overflow"), refused("overflow"), frame("content"), frame("terminal"), ended],
    ["recover", "recover", "pass", "keep", "store"],
  ],
  [
    "an overflow inside the stream is recovered as long as no client has seen a word",
    [frame("opening"), refused("overflow"), ended],
    ["hold", "recover", "store"],
  ],
  [
    "what a client has seen is not taken back",
    [frame("opening"), frame("content"), refused("overflow"), ended],
    ["hold", "pass", "tell", "nothing"],
  ],
  ["bound thinking is dropped once", [refused("binding"), refused("binding")], ["unbind", "refuse"]],
  ["any other refusal is the client's answer", [refused("other"), ended], ["refuse", "nothing"]],
  [
    "an empty reply of a request that did not fit is no reply",
    [frame("opening"), frame("terminal"), swallowed, frame("content"), ended],
    ["hold", "keep", "recover", "pass", "store"],
  ],
  ["a stream that ends before its end breaks", [frame("content"), empty], ["pass", "break"]],
  [
    "a broken connection breaks",
    [frame("content"), { kind: "broken", unreached: false }, frame("content")],
    ["pass", "break", "nothing"],
  ],
  [
    "a step that nobody wants is aborted once",
    [frame("opening"), { kind: "stopped" }, { kind: "stopped" }, ended],
    ["hold", "abort", "nothing", "nothing"],
  ],
  [
    "frames behind the first terminal one are kept, whatever they are",
    [frame("content"), frame("terminal"), frame("quiet")],
    ["pass", "keep", "keep"],
  ],
];

describe("a step", () => {
  it.each(rows)("[G40] %s", (_, signals, actions) => {
    let state = newStep;
    const done = signals.map((signal) => {
      const next = nextAction(state, signal);
      state = next.state;
      return next.action;
    });
    expect(done).toEqual(actions);
  });
});
