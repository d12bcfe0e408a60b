/** The providers' own lists as an isolate keeps them: when they are asked for, by whom, and what a bad answer does. */
import { describe, expect, it } from "vitest";
import { parseEnv } from "../../src/env.ts";
import { BACK_OFF_MS, FRESH_MS, KeptLists, MOST_LISTS } from "../../src/providers/kept-lists.ts";

const SECRET = "sk-of-the-deployment";
const list = (window: number) => Response.json({ data: [{ id: "m", context_length: window }] });
const provider = (name: string, more: object = {}) => ({
  [name]: { baseUrl: `https://${name}.test/v1`, dialects: ["openai-chat", "anthropic"], ...more },
});

/** Lists under a clock that is set by hand, in front of providers that answer as told. */
class Bench {
  readonly lists = new KeptLists({ totalMs: 40, answerBytes: 2_000 });
  readonly asked: Request[] = [];
  readonly config;
  at = 0;
  answer: (request: Request) => Response | Promise<Response> = () => list(9_000);

  constructor(providers: object = provider("acme")) {
    this.config = parseEnv({ PROVIDERS: providers });
  }

  ask(
    route = "acme/m",
    secrets: object = { KEY: SECRET, OPENROUTER_API_KEY: SECRET, ANTHROPIC_API_KEY: SECRET },
  ) {
    const fetch = (async (input: RequestInfo, init?: RequestInit) => {
      const request = new Request(input, init);
      this.asked.push(request);
      return await this.answer(request);
    }) as typeof globalThis.fetch;
    return this.lists.refresh(route, { config: this.config, secrets, fetch, now: () => this.at });
  }

  window(route = "acme/m") {
    return this.lists.of(route, this.config)?.window;
  }
}

describe("a list", () => {
  it("[V48] is known once it was asked for, model by model, and is the same object until the next", async () => {
    const bench = new Bench();
    expect(bench.window()).toBeUndefined();
    await bench.ask();
    expect([
      bench.window(),
      bench.window("acme/other"),
      bench.window("nobody/m"),
      bench.window("bad"),
    ]).toEqual([9_000, undefined, undefined, undefined]);
    expect(bench.lists.of("acme/m", bench.config)).toBe(bench.lists.of("acme/m", bench.config));
  });

  it("[V48] is asked for once at a time", async () => {
    const bench = new Bench();
    const first = bench.ask();
    expect([bench.ask(), bench.ask("acme/other")]).toEqual([undefined, undefined]);
    await first;
    expect(bench.asked).toHaveLength(1);
  });

  it("[V48] is asked for again after an hour; until the new one is there the old one holds", async () => {
    const bench = new Bench();
    await bench.ask();
    bench.at = FRESH_MS - 1;
    expect(bench.ask()).toBeUndefined();
    bench.at = FRESH_MS;
    bench.answer = () => list(5_000);
    const again = bench.ask();
    expect(bench.window()).toBe(9_000);
    await again;
    expect([bench.window(), bench.asked.length]).toEqual([5_000, 2]);
  });

  it("[V48] an answer that never comes, with the object that asked, counts as a failure", async () => {
    const bench = new Bench();
    bench.answer = () => new Promise(() => {});
    expect(bench.ask()).toBeDefined();
    bench.at = BACK_OFF_MS;
    bench.answer = () => list(9_000);
    await bench.ask();
    expect(bench.window()).toBe(9_000);
  });

  it("[V48] of one name at another address is another list", async () => {
    const bench = new Bench();
    await bench.ask();
    const moved = parseEnv({ PROVIDERS: provider("acme", { baseUrl: "https://elsewhere.test/v1" }) });
    expect(bench.lists.of("acme/m", moved)).toBeUndefined();
  });

  it("[V48] of one provider too many is not asked for before another one is old", async () => {
    const names = Array.from({ length: MOST_LISTS + 1 }, (_, n) => `p${n}`);
    const bench = new Bench(Object.assign({}, ...names.map((name) => provider(name))));
    for (const name of names) await bench.ask(`${name}/m`);
    expect([bench.asked.length, bench.window("p0/m"), bench.window("p16/m")]).toEqual([
      MOST_LISTS,
      9_000,
      undefined,
    ]);
    bench.at = FRESH_MS;
    await bench.ask("p16/m");
    expect([bench.window("p0/m"), bench.window("p1/m"), bench.window("p16/m")]).toEqual([
      undefined,
      9_000,
      9_000,
    ]);
  });
});

const huge = () => Response.json({ data: [{ id: "m", context_length: 9_000, filler: "x".repeat(2_000) }] });
const stalled = () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));

describe("a bad answer", () => {
  it.each<[string, Bench["answer"]]>([
    ["no connection", () => Promise.reject(new TypeError("refused"))],
    ["silence", () => new Promise(() => {})],
    ["silence in the body", stalled],
    [
      "a redirect",
      () => new Response(null, { status: 302, headers: { location: "https://elsewhere.test/" } }),
    ],
    ["404", () => Response.json({ data: [{ id: "m", context_length: 5_000 }] }, { status: 404 })],
    ["201", () => Response.json({ data: [{ id: "m", context_length: 5_000 }] }, { status: 201 })],
    ["a page", () => new Response("<html>Sign in</html>")],
    ["cut JSON", () => new Response('{"data":[{"id":"m"')],
    ["no list", () => Response.json({ error: { message: "no" } })],
    ["nothing", () => new Response(null)],
    ["too much", huge],
  ])(
    "[V48] throws nothing, leaves what was known, and is not asked for again at once: %s",
    async (_, answer) => {
      const bench = new Bench();
      await bench.ask();
      bench.at = FRESH_MS;
      bench.answer = answer;
      await bench.ask();
      expect([bench.window(), bench.asked.length]).toEqual([9_000, 2]);
      bench.at += BACK_OFF_MS - 1;
      expect(bench.ask()).toBeUndefined();
      bench.at += 1;
      bench.answer = () => list(5_000);
      await bench.ask();
      expect(bench.window()).toBe(5_000);
    },
  );

  it("[V48] a list that states nothing is an answer: nothing is known, and it is not asked for within the hour", async () => {
    const bench = new Bench();
    bench.answer = () => Response.json({ object: "list", data: [{ id: "m" }] });
    await bench.ask();
    bench.at = FRESH_MS - 1;
    expect([bench.ask(), bench.window()]).toEqual([undefined, undefined]);
  });
});

describe("who is asked", () => {
  const told = ({ url, method, headers, redirect }: Request) => ({
    url,
    method,
    redirect,
    key: headers.get("authorization") ?? headers.get("x-api-key"),
    version: headers.get("anthropic-version"),
  });

  it("[V48] the provider in its preferred dialect, with the deployment's key, led nowhere", async () => {
    const base = { baseUrl: "https://one.test/v1/", secret: "KEY" };
    const bench = new Bench({
      one: { ...base, dialects: ["openai-responses"] },
      two: { ...base, dialects: ["anthropic", "openai-chat"] },
      local: { baseUrl: "https://local.test/v1", dialects: ["openai-chat"] },
    });
    for (const route of ["one/m", "two/m", "local/m", "anthropic/m", "openrouter/m"]) await bench.ask(route);
    const get = { method: "GET", redirect: "manual", version: null };
    const version = "2023-06-01";
    expect(bench.asked.map(told)).toEqual([
      { ...get, url: "https://one.test/v1/models", key: `Bearer ${SECRET}` },
      { ...get, url: "https://one.test/v1/models?limit=1000", key: SECRET, version },
      { ...get, url: "https://local.test/v1/models", key: null },
      { ...get, url: "https://api.anthropic.com/v1/models?limit=1000", key: SECRET, version },
      { ...get, url: "https://openrouter.ai/api/v1/models", key: `Bearer ${SECRET}` },
    ]);
  });

  it("[V48] nobody without a key of the deployment's own", () => {
    const bench = new Bench({
      ...provider("acme", { auth: "forward" }),
      ...provider("kept", { secret: "KEY" }),
    });
    expect(bench.ask("acme/m")).toBeUndefined();
    expect(bench.ask("kept/m", {})).toBeUndefined();
    expect(bench.ask("kept/m", { KEY: "two\nlines" })).toBeUndefined();
    expect(bench.ask("nobody/m")).toBeUndefined();
    expect(bench.asked).toEqual([]);
  });
});
