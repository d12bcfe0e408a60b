/** A window that only the provider's own list states: it counts from the step behind the one that asked for it. */
import { afterEach, describe, expect, it } from "vitest";
import {
  capacity,
  checkRigs,
  openRig,
  type Rig,
  type RigOptions,
  reply,
  user,
  words,
} from "../support/rig.ts";
import { step, until } from "./native-steps.ts";

afterEach(checkRigs);

const { window, maxOutput } = capacity;
const list = {
  object: "list",
  data: [
    {
      id: "gpt-x",
      context_length: 2 * window,
      top_provider: { context_length: window, max_completion_tokens: maxOutput },
    },
  ],
};

let hosts = 0;

/** A session without a window, on a provider of its own: lists are kept for all sessions. */
function rigged(more: RigOptions = {}, entry: object = {}): Promise<Rig> {
  const baseUrl = `https://lists-${++hosts}.example/v1`;
  const fake = { fake: { baseUrl, dialects: ["openai-chat", "anthropic"], ...entry } };
  return openRig({ capacity: {}, provider: { list }, env: { PROVIDERS: fake }, ...more });
}

async function budget(rig: Rig) {
  const told = await rig.session.expect<{ budget: { window: number | null; source: string } }>(
    200,
    "GET",
    "/pressure",
  );
  return told.budget;
}

const unknown = { window: null, source: "unknown" };
const listed = { window, source: "provider" };

/** One step of a client that sends everything each time. */
async function dropIn(rig: Rig, messages: readonly object[]) {
  const body = { model: "fake/gpt-x", messages };
  const response = await rig.session.request("POST", "/openai/v1/chat/completions", body);
  return { response, said: (await response.json()) as { choices: { message: object }[] } };
}

describe("the provider's own list", () => {
  it("[V49] is asked for by the first step, which does not wait for it, and holds for the next", async () => {
    const rig = await rigged({ provider: { list, window, countText: (text) => Math.ceil(text.length / 4) } });
    expect(await budget(rig)).toMatchObject(unknown);
    const first = await step(rig, { messages: [user("hi")] });
    expect(first.compaction).toBeNull();
    await until(async () => (await budget(rig)).source === "provider");
    expect(await budget(rig)).toMatchObject({ ...listed, threshold: 8_000 });
    await rig.turns(55);
    rig.provider.will({ do: "reply", text: "a summary of it" }, { do: "reply", text: "ok" });
    const done = await step(rig, { messages: [user("and now")] });
    expect(done.compaction).toMatchObject({ trigger: "pressure", outcome: "done" });
    expect((await rig.types()).filter((type) => type === "step/failed")).toEqual([]);
    expect(rig.provider.lists).toHaveLength(1);
  });

  it("[V49] a step ends while the list is still awaited", async () => {
    const rig = await rigged();
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    await rig.plug((parts) => {
      const { fetch } = parts;
      parts.fetch = async (input, init) => {
        if (init?.method === "GET") await gate;
        return fetch(input, init);
      };
    });
    for (const text of ["one", "two"]) await step(rig, { messages: [user(text)] });
    expect(await budget(rig)).toMatchObject(unknown);
    release();
    await until(async () => (await budget(rig)).source === "provider");
    expect(rig.provider.lists).toHaveLength(1);
  });

  it("[V49] a drop-in client's line is compacted by it before it overflows", async () => {
    const rig = await rigged({ provider: { list, window } });
    const messages: object[] = [];
    for (let n = 0; n < 12; n++) {
      messages.push(user(words(1_200, `ask${n}`)));
      const { response, said } = await dropIn(rig, messages);
      expect(response.status).toBe(200);
      messages.push(said.choices[0]!.message);
      if (n === 0) await until(async () => (await budget(rig)).source === "provider");
    }
    expect((await rig.types()).filter((type) => type === "step/failed")).toEqual([]);
    expect((await rig.bodies("compaction/start")).map(({ trigger }) => trigger)).toContain("pressure");
    expect(rig.provider.lists).toHaveLength(1);
  });

  it("[V49] a window that session or configuration states is not asked about", async () => {
    const own = await rigged({ capacity: { window: 9_000 } });
    await step(own, { messages: [user("hi")] });
    const baseUrl = "https://lists-configured.example/v1";
    const env = {
      PROVIDERS: { fake: { baseUrl, dialects: ["openai-chat"] } },
      ROUTES: { "fake/gpt-x": { window: 8_000 } },
    };
    const configured = await rigged({ env });
    // The rig brings its configuration along only now: other settings make the session look at it.
    await configured.session.expect(200, "PUT", "/", { capacity: { maxOutput } });
    await step(configured, { messages: [user("hi")] });
    for (const [rig, window] of [
      [own, 9_000],
      [configured, 8_000],
    ] as const) {
      expect(rig.provider.lists).toEqual([]);
      expect(await budget(rig)).toMatchObject({ window, source: "config" });
    }
  });

  it("[V49] /prepare goes by what is known, and asks nobody", async () => {
    const asked = await rigged();
    const { prepareId } = await asked.prepare([user("hi")]);
    expect([asked.provider.lists, await budget(asked)]).toEqual([[], expect.objectContaining(unknown)]);
    await asked.append([{ type: "aborted" }], { prepareId });
    await step(asked, { messages: [] });
    await until(async () => (await budget(asked)).source === "provider");
    await asked.say(
      ...Array.from({ length: 45 }, (_, n) => [user(words(86, `a${n}`)), reply(words(86, `b${n}`))]).flat(),
    );
    expect((await asked.prepare([user("and")])).compaction).toMatchObject({ outcome: "done" });
  });

  it("[V49] a provider that takes only the client's own key is never asked", async () => {
    const rig = await rigged({}, { auth: "forward" });
    for (const text of ["one", "two"]) {
      const response = await rig.session.stub().fetch("https://session/dropin/openai-chat", {
        method: "POST",
        headers: { "plimsoll-forwarded-authorization": "Bearer client-key" },
        body: JSON.stringify({ model: "fake/gpt-x", messages: [user(text)] }),
      });
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("Done.")]);
    }
    const keys = rig.provider.requests.map(({ headers }) => headers.get("authorization"));
    expect(keys).toEqual(["Bearer client-key", "Bearer client-key"]);
    expect(rig.provider.lists).toEqual([]);
    expect(await budget(rig)).toMatchObject(unknown);
  });

  it("[V49] a provider without a list leaves the step and the session as they are", async () => {
    const rig = await rigged({ provider: {} });
    for (const text of ["one", "two"]) await step(rig, { messages: [user(text)] });
    expect(await budget(rig)).toMatchObject(unknown);
    expect(rig.provider.lists).toHaveLength(1);
  });
});
