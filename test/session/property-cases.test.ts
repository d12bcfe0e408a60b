/** What random sessions found, each as a small session of its own. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createMemoryLog } from "../../src/log/memory-log.ts";
import { append } from "../../src/session/append.ts";
import { openBranch } from "../../src/session/branches.ts";
import { configure } from "../../src/session/configure.ts";
import type { Prepared } from "../../src/session/landing.ts";
import { compactManually, undoNewest } from "../../src/session/manual.ts";
import { recover } from "../../src/session/overflow.ts";
import { prepare } from "../../src/session/prepare.ts";
import { textOf } from "../support/naive-messages.ts";
import { faultsOf, leadingSignature, sign } from "../support/requests.ts";
import { bytesOf, talks, words } from "../support/talk.ts";
import { memoryIdempotency, World } from "../support/world.ts";
import { modelAnswer } from "./answers.ts";
import { requestOf } from "./asked.ts";
import type { Request } from "./deeds.ts";

const talk = talks.anthropic;

/** A harness that speaks Anthropic to one session, step by step. */
class Table {
  readonly world = new World(createMemoryLog(), memoryIdempotency(), "anthropic");
  private serial = 0;

  constructor(route: string) {
    this.world.do((core) => configure(core, { route }));
  }

  say(...messages: object[]): void {
    const items = messages.map(
      (message) => `{"type":"message","message":${textOf(bytesOf(message!, false))}}`,
    );
    const raws = items.map((text, index) => ({
      bytes: new TextEncoder().encode(text),
      at: `items[${index}]`,
    }));
    const outcome = this.world.do((core) =>
      append(core, { branch: "main", items: raws, strict: false }, () => undefined),
    );
    expect(outcome.ok).toBe(true);
  }

  async prepare(
    messages: object[],
    more: { route?: string; system?: string; branch?: string } = {},
  ): Promise<Request> {
    const raws = messages.map((message, index) => ({
      bytes: bytesOf(message, false),
      at: `messages[${index}]`,
    }));
    const system = more.system === undefined ? {} : { system: new TextEncoder().encode(more.system) };
    const request = {
      branch: more.branch ?? "main",
      envelope: system,
      messages: raws,
      route: more.route,
      strict: false,
    };
    const { outcome } = await this.world.start("prepare", 2, (core) =>
      prepare(core, request, () => undefined),
    );
    if (outcome?.ok !== true) throw new Error(`prepare: ${JSON.stringify(outcome)}`);
    return requestOf(this.world, 2, outcome.value as Prepared);
  }

  /** Answers a request with signed thinking, and calls if any. */
  reply(request: Request, calls: readonly string[] = [], branch = "main"): void {
    const [message] = talk.assistant({
      text: words(`reply ${++this.serial}`, 60),
      calls,
      signature: sign(request),
    });
    const text = `{"type":"message","message":${textOf(bytesOf(message!, false))}}`;
    const items = [{ bytes: new TextEncoder().encode(text), at: "items[0]" }];
    const given = { branch, items, prepareId: request.prepareId, strict: false };
    expect(this.world.do((core) => append(core, given, () => undefined)).ok).toBe(true);
  }

  async turns(count: number, size = 300): Promise<void> {
    for (let n = 0; n < count; n++)
      this.reply(await this.prepare([talk.user(words(`user ${++this.serial}`, size))]));
  }

  async settle(): Promise<void> {
    const good = { do: "settle", a: 0, b: 0, size: 0, bits: 0 } as const;
    while (this.world.calls.length > 0)
      await this.world.settle(this.world.calls[0]!, modelAnswer(good, false, "s"));
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const results = (id: string) => talk.results([id], "done", { joined: true, media: false, says: false });
const shown = (sent: Request) =>
  sent.messages.filter((message) => leadingSignature(message) !== undefined).length;

describe("thinking", () => {
  it("[B15] of an older system prompt leaves the Surface before the next request, where it is bound to its prefix", async () => {
    const table = new Table("test/bound");
    table.reply(await table.prepare([talk.user("hello")], { system: '"one"' }));
    const same = await table.prepare([talk.user("more")], { system: '"one"' });
    expect([faultsOf(same), shown(same)]).toEqual([[], 1]);
    const changed = await table.prepare([talk.user("and more")], { system: '"two"' });
    expect([faultsOf(changed), shown(changed)]).toEqual([[], 0]);
  });

  it("[B15] of an older system prompt stays where it is not bound", async () => {
    const table = new Table("test/free");
    table.reply(await table.prepare([talk.user("hello")], { system: '"one"' }));
    const changed = await table.prepare([talk.user("more")], { system: '"two"' });
    expect([faultsOf(changed), shown(changed)]).toEqual([[], 1]);
  });

  it("[B15] of another route leaves the Surface also while a compaction holds the branch", async () => {
    const table = new Table("test/free");
    await table.turns(5, 700);
    const manual = await table.world.start("manual", 2, (core) => compactManually(core, "main", "c"));
    expect(table.world.log.branch(2)!.claim).not.toBe("");
    const switched = await table.prepare([talk.user("on the other one")], { route: "test/bound" });
    expect([faultsOf(switched), shown(switched)]).toEqual([[], 0]);
    await table.settle();
    expect(manual.outcome).toEqual({ ok: false, code: "surface-changed" });
  });

  it("[B16] of a fork is that of the route and the envelope which its node was answered with", async () => {
    const table = new Table("test/bound");
    table.reply(await table.prepare([talk.user("hello")], { system: '"one"' }));
    const early = table.world.log.branch(2)!.head;
    table.world.do((core) => configure(core, { route: "test/free" }));
    table.reply(await table.prepare([talk.user("more")], { system: '"two"' }));
    table.world.do((core) => openBranch(core, early, "early", "main"));
    const branch = table.world.log.branchNamed("early")!;
    expect(branch.route).toBe("test/bound");
    expect(textOf(table.world.log.envelope(branch.envelope)!.body)).toContain('"one"');
    const back = await table.prepare([talk.user("again")], { branch: "early", route: "test/bound" });
    expect([faultsOf(back), back.system]).toEqual([[], '"one"']);
    table.reply(back, [], "early");
    const switched = await table.prepare([talk.user("and now")], { branch: "early" });
    expect([switched.route, faultsOf(switched), shown(switched)]).toEqual(["test/free", [], 0]);
  });

  it("[B9] of an open tool loop stays through an undo where it is not bound, and goes where it is", async () => {
    for (const [route, kept] of [
      ["test/free", true],
      ["test/bound", false],
    ] as const) {
      const table = new Table(route);
      await table.turns(4);
      const manual = await table.world.start("manual", 2, (core) => compactManually(core, "main", "c"));
      await table.settle();
      expect(manual.outcome).toMatchObject({ ok: true });
      table.reply(await table.prepare([talk.user("look")]), ["call_1"]);
      expect(table.world.do((core) => undoNewest(core, "main")).ok).toBe(true);
      const next = await table.prepare(results("call_1"));
      expect(faultsOf(next)).toEqual([]);
      const newest = next.messages.at(-2)!;
      expect(leadingSignature(newest) !== undefined, route).toBe(kept);
    }
  });
});

it("[T10] a request that was answered while its overflow was being repaired is not sent again", async () => {
  const table = new Table("test/free");
  await table.turns(5, 700);
  const request = await table.prepare([talk.user("the last one")]);
  const body = {
    type: "error",
    error: { type: "invalid_request_error", message: "prompt is too long: 9000 tokens > 1200 maximum" },
  };
  const report = { branch: "main", prepareId: request.prepareId, status: 400, body };
  const repair = await table.world.start("overflow", 2, (core) => recover(core, report));
  expect(table.world.calls.length).toBe(1);
  table.reply(request);
  const before = table.world.log.branch(2)!;
  await table.settle();
  expect(repair.outcome).toEqual({ ok: true, value: { action: "none", reason: "superseded" } });
  const after = table.world.log.branch(2)!;
  expect([after.claim, after.step, after.resends, after.head]).toEqual(["", 0, 0, before.head]);
});

it("[P14] a summary is asked for in words of its own where the span ends with a system message", async () => {
  const table = new Table("test/free");
  await table.turns(3);
  table.say(talk.user("mind the tide"), talk.system("The gauge is off."));
  table.say(...talk.assistant({ text: "I will.", calls: [] }), talk.user("good"));
  const conversation = async () => {
    await table.world.start("manual", 2, (core) => compactManually(core, "main", "c"));
    const { messages } = JSON.parse(textOf(table.world.calls[0]!.body)) as { messages: { role: string }[] };
    await table.settle();
    return messages.map(({ role }) => role);
  };
  // The newest unit is the last user message: the span ends with the reply, and is sent as it stands.
  expect((await conversation()).length).toBeGreaterThan(4);
  table.say(talk.system("The gauge is right again."), ...talk.assistant({ text: "Fine.", calls: [] }));
  // Now it ends with a system message, behind which no user message may stand.
  expect(await conversation()).toEqual(["user"]);
});
