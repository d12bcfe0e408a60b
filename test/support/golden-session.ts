/**
 * The session behind the golden logs, played by the release at hand: steps, prunes, checkpoints by model and by code, a fork, an undo,
 * thinking that leaves, a call that is left behind. Runs in plain Node; everything in it is fixed.
 */

import { readVocabulary } from "../../scripts/pack-vocabulary.ts";
import type { DialectName } from "../../src/dialects/dialect.ts";
import { parseEnv } from "../../src/env.ts";
import type { EventLog } from "../../src/log/event-log.ts";
import { createMemoryLog } from "../../src/log/memory-log.ts";
import { createCounter } from "../../src/meter/counter.ts";
import { createMeter } from "../../src/meter/price.ts";
import { append } from "../../src/session/append.ts";
import { openBranch } from "../../src/session/branches.ts";
import { configure } from "../../src/session/configure.ts";
import { Core } from "../../src/session/core.ts";
import { compactManually, undoNewest } from "../../src/session/manual.ts";
import { prepare } from "../../src/session/prepare.ts";
import { type Golden, goldenOf } from "./golden-format.ts";
import { assistant, results, system, user } from "./golden-messages.ts";

const config = parseEnv({
  PROVIDERS: { yard: { baseUrl: "https://yard.example/v1", dialects: ["openai-chat", "anthropic"] } },
  ROUTES: {
    "yard/large": { window: 2_800, ratio: 1, thinkingBinding: "prefix" },
    "yard/small": { window: 2_600, ratio: 1.1, thinkingBinding: "none" },
  },
});

const summary = [
  "## User's intent: a tide table that a deckhand can read, in plain text.",
  "## Files: src/tides.ts (reads the gauge), src/table.ts (prints), both with tests.",
  "## Current state: rounding is right, the night column is missing. Größe: 3,4 m; 潮位 checked.",
].join("\n");

export async function goldenSession(dialect: DialectName): Promise<Golden> {
  const log = createMemoryLog();
  const core = coreOver(log);
  const play = new Play(core, dialect);
  configure(core, {
    dialect,
    route: "yard/large",
    policy: { prune: { over: 600, head: 200, tail: 100, protectGroups: 1 }, summary: { maxTokens: 700 } },
    metadata: { purpose: "golden" },
  });
  await play.work(6);
  await compactManually(core, "main", "by hand");
  await play.work(2);
  const fork = log.branch(2)!.head;
  openBranch(core, play.firstReply, "early", "main");
  openBranch(core, fork, "side", "main");
  await play.work(5, "side");
  undoNewest(core, "side");
  await play.work(1, "side");
  configure(core, { policy: { summary: { route: "extractive" } } });
  await play.work(3, "main");
  configure(core, { route: "yard/small" });
  await play.work(2, "main");
  undoNewest(core, "main");
  await play.work(1, "early");
  return goldenOf(log, dialect);
}

function coreOver(log: EventLog): Core {
  let clock = Date.UTC(2026, 10, 1);
  let ids = 0;
  return new Core({
    log,
    idempotency: { get: () => undefined, put: () => undefined, purge: () => undefined },
    config,
    secrets: {},
    epoch: "golden",
    meter: createMeter(createCounter(readVocabulary())),
    now: () => (clock += 1_000),
    newId: () => `golden-${++ids}`,
    fetch: () => Promise.reject(new Error("no network here")),
    callModel: async () => ({
      ok: true,
      reply: {
        text: summary,
        toolCalls: 0,
        finish: "stop",
        finishReason: "stop",
        model: "large-1",
        requestId: "r1",
      },
      ms: 40,
    }),
    wait: () => Promise.resolve(),
    landed: () => undefined,
    keep: () => undefined,
    defect: () => undefined,
  });
}

/** A harness at work on one session. */
class Play {
  firstReply = 0;
  private readonly core: Core;
  private readonly dialect: DialectName;
  private step = 0;

  constructor(core: Core, dialect: DialectName) {
    this.core = core;
    this.dialect = dialect;
  }

  /** Whole steps: a request with what is due, and the reply to it. */
  async work(steps: number, branch = "main"): Promise<void> {
    for (let n = 0; n < steps; n++) {
      const step = ++this.step;
      const open = this.openCalls(branch);
      // Now and then a call is left behind, and its result is Plimsoll's own.
      const left = step % 9 === 0;
      const entering =
        open.length > 0 && !left ? results(this.dialect, open, step) : [user(this.dialect, step)];
      const { json } = await prepare(this.core, this.request(branch, entering), () => undefined);
      const signature = this.dialect === "anthropic" ? `sig-${step}` : undefined;
      const said = [
        assistant(this.dialect, step, signature),
        ...(step % 6 === 0 ? [] : [usage(this.dialect, step)]),
      ];
      const items = said.map((item, index) => ({ bytes: bytes(item), at: `items[${index}]` }));
      const prepareId = String(json.prepareId);
      append(this.core, { branch, items, prepareId, strict: false }, () => undefined);
      this.firstReply ||= this.core.log.branchNamed(branch)!.head;
      if (step === 4) this.aside(branch);
    }
  }

  /** What is appended without a request: a note by the operator and the user's word behind it. */
  private aside(branch: string): void {
    const open = this.openCalls(branch);
    const messages = [...results(this.dialect, open, 90), system(this.dialect)].slice(
      0,
      open.length > 0 ? undefined : 0,
    );
    const items = messages.map((message, index) => ({
      bytes: bytes(`{"type":"message","message":${message}}`),
      at: `items[${index}]`,
    }));
    append(this.core, { branch, items, strict: false }, () => undefined);
  }

  private openCalls(branch: string): readonly string[] {
    const { head } = this.core.log.branchNamed(branch)!;
    return head === 0 ? [] : this.core.log.event(head)!.node!.open;
  }

  private request(branch: string, entering: readonly string[]) {
    const envelope = {
      system: bytes('"You help a harbour crew. Ñandú, 港, \\ud83c\\udf0a."'),
      tools: bytes('[{"name":"run","description":"Runs a command"}]'),
      params: bytes('{"temperature": 0.20}'),
    };
    const afterSystem = this.isBehindSystem(branch);
    const messages = (afterSystem ? [] : entering).map((text, index) => ({
      bytes: bytes(text),
      at: `messages[${index}]`,
    }));
    return { branch, envelope, messages, strict: false };
  }

  /** Behind a system message a reply must come. */
  private isBehindSystem(branch: string): boolean {
    const { head } = this.core.log.branchNamed(branch)!;
    return head !== 0 && this.core.log.event(head)!.type === "message/system";
  }
}

function usage(dialect: DialectName, step: number): string {
  const [input, output] = [700 + step * 90, 60];
  return dialect === "anthropic"
    ? `{"type":"usage","usage":{"input_tokens":${input},"output_tokens":${output},"cache_read_input_tokens":200}}`
    : `{"type":"usage","usage":{"prompt_tokens":${input},"completion_tokens":${output},"total_tokens":${input + output}}}`;
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
