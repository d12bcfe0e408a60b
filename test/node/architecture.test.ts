/**
 * The house of design.md section 2, enforced: which way imports point, what stays pure, how long files get,
 * which rules have tests.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  cycleIn,
  edgesOf,
  type Files,
  importsOf,
  impurities,
  type Layer,
  machinePaths,
  ruleGaps,
  tooLong,
  wrongArrows,
} from "./house-rules.ts";

const inner = ["log", "meter", "dialects", "projections", "compaction"];

/** Arrows point left: each layer may import from those it names. */
const layers: Record<string, Layer> = {
  log: { files: /^src\/log\//, may: [] },
  meter: { files: /^src\/meter\//, may: ["log"] },
  dialects: { files: /^src\/dialects\//, may: ["log"] },
  projections: { files: /^src\/projections\//, may: ["log", "meter", "dialects"] },
  transaction: { files: /^src\/compaction\/transaction\.ts$/, may: inner },
  run: { files: /^src\/compaction\/run(-summary)?\.ts$/, may: [...inner, "transaction", "providers"] },
  compaction: { files: /^src\/compaction\//, may: ["log", "meter", "dialects", "projections"] },
  providers: { files: /^src\/providers\//, may: ["log", "meter", "dialects", "compaction"] },
  env: { files: /^src\/env\.ts$/, may: ["providers", "compaction"] },
  turn: { files: /^src\/turn\//, may: ["log", "dialects", "providers"] },
  live: { files: /^src\/live\//, may: ["log"] },
  schemas: { files: /^src\/session\/schemas\.ts$/, may: ["log", "dialects", "compaction", "providers"] },
  session: {
    files: /^src\/session\//,
    may: [...inner, "transaction", "providers", "run", "turn", "env", "live", "schemas"],
  },
  object: {
    files: /^src\/session-object\.ts$/,
    may: [...inner, "transaction", "providers", "run", "env", "live", "session"],
  },
  gateway: { files: /^src\/gateway\//, may: ["dialects", "providers", "schemas"] },
  index: { files: /^src\/index\.ts$/, may: ["object", "gateway", "env"] },
};

/** Types and words that everyone shares. */
const free = new Set([
  "src/failure.ts",
  "src/problem-response.ts",
  "src/dialects/dialect.ts",
  "src/providers/provider.ts",
]);

/** Values in, values out. */
function isPure(path: string): boolean {
  if (/^src\/(projections|meter|dialects)\//.test(path)) return true;
  if (/^src\/compaction\//.test(path)) return !/\/(transaction|run|run-summary)\.ts$/.test(path);
  if (/^src\/log\//.test(path)) return !/\/(sqlite|migrations)[^/]*$/.test(path);
  return /^src\/(live\/(protocol|subscriber|feed)|failure|env)\.ts$/.test(path);
}

const LINE_LIMIT = 300;
const packages = new Set(["hono", "zod", "eventsource-parser", "node:crypto", "node:buffer"]);

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Tracked files, and those that are about to be. */
function repository(): Files {
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const paths = execFileSync("git", list, { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 }).split("\0");
  const texts = new Map<string, string>();
  for (const path of paths) {
    if (path === "" || !existsSync(root + path) || statSync(root + path).size > 2_000_000) continue;
    const text = readFileSync(root + path, "utf8");
    if (!text.includes("\0")) texts.set(path, text);
  }
  return texts;
}

const all = repository();
const only = (pattern: RegExp): Files => new Map([...all].filter(([path]) => pattern.test(path)));
const source = only(/^src\/.*\.ts$/);

describe("the source", () => {
  it("is there to be checked", () => {
    expect(source.size).toBeGreaterThan(20);
    expect(edgesOf(source).length).toBeGreaterThan(40);
  });

  it("imports only from the layers to its left", () => {
    expect(wrongArrows(source, layers, free)).toEqual([]);
  });

  it("has no cycle of imports", () => {
    expect(cycleIn(source)).toBeUndefined();
  });

  it("keeps its pure files free of clock, randomness, network, storage and waiting", () => {
    expect([...source.keys()].filter(isPure).length).toBeGreaterThan(10);
    expect(impurities(source, isPure)).toEqual([]);
  });

  it("uses few packages, and the runtime's module in the object's class alone", () => {
    const used = edgesOf(source).filter(({ to }) => !to.startsWith("src/") && !/^(hono|zod)\//.test(to));
    const strange = used.filter(({ from, to }) => {
      if (to === "cloudflare:workers") return from !== "src/session-object.ts";
      return !packages.has(to);
    });
    expect(strange).toEqual([]);
  });

  it("has one default export, the Worker's", () => {
    const withDefault = [...source].filter(([, text]) => /^export default\b/m.test(text));
    expect(withDefault.map(([path]) => path)).toEqual(["src/index.ts"]);
  });
});

describe("the repository", () => {
  it(`has no code file over ${LINE_LIMIT} lines`, () => {
    expect(tooLong(only(/^(src|cli|bench|scripts|test)\/.*\.ts$/), LINE_LIMIT)).toEqual([]);
  });

  it("names no place of the machine it was written on", () => {
    const places = ["work", "tmp", "Users"].map((name) => `/${name}/`);
    const here = [root.replace(/\/$/, ""), homedir()]
      .filter((place) => place.length > 1)
      .map((place) => `${place}/`);
    expect(machinePaths(all, [...new Set([...places, ...here])])).toEqual([]);
  });

  it.skipIf(!all.has("SPEC.md"))("tests every rule of SPEC.md and has no test of an unwritten rule", () => {
    const spec = all.get("SPEC.md") ?? "";
    expect([...spec.matchAll(/\[[LBPMCTOVGW]\d+\]/g)].length).toBeGreaterThan(20);
    expect(ruleGaps(spec, only(/^test\/(?!node\/architecture).*\.ts$/))).toEqual([]);
  });
});

describe("the checkers see what is wrong", () => {
  const made = (entries: Record<string, string>): Files => new Map(Object.entries(entries));

  it("an import to the right, one out of src and a file without a place", () => {
    const files = made({
      "src/log/a.ts": 'import type { X } from "../session/x.ts";\nimport { Refusal } from "../failure.ts";',
      "src/projections/b.ts": 'import {\n  one,\n  two,\n} from "../log/a.ts";',
      "src/meter/c.ts": 'export { helper } from "../../test/support/helper.ts";',
      "src/failure.ts": 'const later = import("./log/a.ts");',
      "src/elsewhere/d.ts": "",
      "src/session/x.ts": "",
    });
    expect(wrongArrows(files, layers, free)).toEqual([
      "src/elsewhere/d.ts belongs to no layer",
      "src/log/a.ts imports src/session/x.ts: log -> session",
      "src/meter/c.ts imports test/support/helper.ts: meter -> outside src",
      "src/failure.ts imports src/log/a.ts: a free file -> log",
    ]);
  });

  it("every form of import, and none in a comment", () => {
    const text = [
      'import "side-effect";',
      "import one from 'one';",
      'import { a, type B } from "two";',
      'export * from "three";',
      'const four = await import("four");',
      '// import "five";',
      '/* import "six"; */',
      'const text = 1; // import "seven";',
    ].join("\n");
    expect(importsOf(text)).toEqual(["side-effect", "one", "two", "three", "four"]);
  });

  it("a cycle, but not two ways to one file", () => {
    const diamond = {
      "a.ts": 'import "./b.ts";import "./c.ts";',
      "b.ts": 'import "./d.ts";',
      "c.ts": "",
      "d.ts": "",
    };
    expect(cycleIn(made({ ...diamond, "c.ts": 'import "./d.ts";' }))).toBeUndefined();
    expect(cycleIn(made({ ...diamond, "d.ts": 'import "./b.ts";' }))).toEqual(["b.ts", "d.ts", "b.ts"]);
  });

  it("what a pure file may not know, and not the words in its comments", () => {
    const files = made({
      "pure/clock.ts": "export const now = () => Date.now();",
      "pure/wait.ts": "export async function f() {\n  await g();\n}",
      "pure/net.ts": 'import { env } from "cloudflare:workers";\nconst x = fetch("u");',
      "pure/random.ts": "const id = crypto.randomUUID();",
      "pure/quiet.ts": "/**\n * Never calls fetch( or Date.now.\n */\nconst a = 1; // no await here",
      "free.ts": "Math.random();",
    });
    expect(impurities(files, (path) => path.startsWith("pure/"))).toEqual([
      "pure/clock.ts knows a clock",
      "pure/wait.ts knows await",
      "pure/wait.ts knows async",
      "pure/net.ts knows the network",
      "pure/net.ts knows the runtime",
      "pure/random.ts knows randomness",
    ]);
  });

  it("a file of 301 lines, a place of a machine", () => {
    const files = made({ "ok.ts": "x\n".repeat(300), "long.ts": "x\n".repeat(301), "path.ts": '"/a/b/c"' });
    expect(tooLong(files, LINE_LIMIT)).toEqual(["long.ts has 301 lines"]);
    expect(machinePaths(files, ["/a/b"])).toEqual(["path.ts names /a/b"]);
  });

  it("a rule without a test, a test without a rule, a rule written twice", () => {
    const spec = "# Log\n- [L1] One.\n- **[L2]** Two.\n- [L3] Three, see [L9].\n- [L3] Again.\n";
    const tests = made({
      "a.test.ts": 'it("[L1] does", f);\nit.each(rows)("[L4][DSH-077] %s", f);\nconst x = cum[L5];',
    });
    expect(ruleGaps(spec, tests)).toEqual([
      "SPEC.md writes [L3] twice",
      "[L2] of SPEC.md has no test",
      "[L3] of SPEC.md has no test",
      "[L4] of a.test.ts is not in SPEC.md",
    ]);
  });
});
