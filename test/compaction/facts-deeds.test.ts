import { describe, expect, it } from "vitest";
import { foldFacts } from "../../src/compaction/facts.ts";
import { assistant, span, tool, user } from "./span-messages.ts";

const fold = (...nodes: Parameters<typeof span>[0]) => foldFacts(undefined, span(nodes));
const commands = (...nodes: Parameters<typeof span>[0]) =>
  fold(...nodes).commands.map(({ line, outcome, exit, times }) => [line, outcome, exit, times]);

describe("commands", () => {
  const results: [string, string, boolean, unknown[]][] = [
    ["a plain result", "3 passed", false, ["ok", undefined]],
    ["Claude Code's failure", "Exit code 2\nmake: error", true, ["failed", 2]],
    ["mini-swe's return code", "<returncode>1</returncode>\n<output>\nno</output>", false, ["failed", 1]],
    ["mini-swe's success", "<returncode>0</returncode>\n<output>\nerror count 0</output>", false, ["ok", 0]],
    ["pi's failure", "boom\n\nCommand exited with code 127", true, ["failed", 127]],
    ["Codex's metadata", '{"output":"x","metadata":{"exit_code": 3}}', false, ["failed", 3]],
    [
      "a traceback without a code",
      "Traceback (most recent call last):\n  x\nValueError: bad",
      false,
      ["failed", undefined],
    ],
    ["a rejected call", "The user doesn't want to proceed with this tool use.", true, ["failed", undefined]],
  ];
  it.each(results)("[C46] reads the outcome of %s", (_, result, error, expected) => {
    const [[, ...outcome] = []] = commands(tool("bash", { command: "make all" }, result, { error }));
    expect(outcome.slice(0, 2)).toEqual(expected);
  });

  it("[C46] does not claim an outcome that a pipe hides, or that no result told", () => {
    expect(commands(tool("bash", { command: "npm test 2>&1 | tail -5" }, "2 passed"))).toEqual([
      ["npm test", "unknown", undefined, undefined],
    ]);
    expect(commands(tool("bash", { command: "npm test 2>&1 | tail -5" }, "2 failed"))[0]?.[1]).toBe("failed");
    const [call] = tool("bash", { command: "npm test" }, "");
    expect(commands(call!)).toEqual([["npm test", "unknown", undefined, undefined]]);
    expect(commands(tool("bash", { command: "npm test || echo no" }, "3 passed"))[0]?.[1]).toBe("ok");
    expect(commands(tool("bash", { command: "npm start" }, "x"))[0]?.[1]).toBe("unknown");
  });

  it.each([
    "ls -la src",
    "cat a.ts | head",
    "grep -rn x .",
    "cd /a && find . -name '*.ts'",
    "git status",
    "sed -n 1,5p a.ts",
    "pwd",
  ])("[C46] leaves out a command that only looks: %s", (command) => {
    expect(commands(tool("bash", { command }, "x"))).toEqual([]);
  });

  it("[C46] has a repeated command once, with its newest outcome and how often it ran", () => {
    const run = (result: string) => tool("bash", { command: "cd /work && npm test" }, result);
    expect(
      commands(
        ...run("Exit code 1"),
        ...tool("bash", { command: "git commit -m x" }, "ok"),
        ...run("ok"),
        ...run("ok"),
      ),
    ).toEqual([
      ["git commit -m x", "ok", undefined, undefined],
      ["npm test", "ok", undefined, 3],
    ]);
  });

  it("[C46] shows a command without the body of its here-document", () => {
    const command = "cat > t.py <<'EOF'\nimport os\nprint('x' > 'y')\nEOF\npython t.py";
    expect(commands(tool("bash", { command }, "x"))).toEqual([
      ["cat > t.py <<'EOF' python t.py", "unknown", undefined, undefined],
    ]);
  });

  it("[C46] tells a call that is neither file nor command by its name and arguments", () => {
    const [[line] = []] = commands(tool("book_flight", { from: "LHR", seats: 2 }, "booked"));
    expect(line).toBe("book_flight(from=LHR, seats=2)");
  });

  it("[C46] reads a command given as a list of words", () => {
    expect(commands(tool("shell", { command: ["bash", "-lc", "cargo build"] }, "ok"))[0]?.[0]).toBe(
      "cargo build",
    );
    expect(commands(tool("shell", { command: ["cargo", "build"] }, "ok"))[0]?.[0]).toBe("cargo build");
  });

  it("[C46] keeps the newest and counts the others", () => {
    const many = Array.from({ length: 60 }, (_, n) => tool("bash", { command: `make target-${n}` }, "ok"));
    const facts = fold(...many);
    expect(facts.commands).toHaveLength(24);
    expect(facts.commands.at(-1)?.line).toBe("make target-59");
    expect(facts.omitted.commands).toBe(36);
  });
});

describe("errors", () => {
  it("[C47] keeps the telling lines of a failure, on one line", () => {
    const result =
      "Exit code 1\nrunning 3 tests\nsrc/a.ts:4: error: no semicolon\nok\nTypeError: x is undefined\n\n";
    const [error] = fold(tool("bash", { command: "npm test" }, result, { error: true })).errors;
    expect(error).toMatchObject({
      about: "npm test",
      text: "src/a.ts:4: error: no semicolon / TypeError: x is undefined",
    });
  });

  it("[C47] drops an error once the same thing has gone well, and keeps the others", () => {
    const facts = fold(
      tool("bash", { command: "npm test" }, "Exit code 1\nerror A", { error: true }),
      tool("Edit", { file_path: "/a.ts" }, "String to replace not found", { error: true }),
      tool("bash", { command: "npm test" }, "all passed"),
    );
    expect(facts.errors.map(({ about }) => about)).toEqual(["Edit /a.ts"]);
  });

  it("[C47] has errors that differ only in numbers once, and at most eight", () => {
    const same = Array.from({ length: 5 }, (_, n) =>
      tool("bash", { command: `run ${n}` }, `Exit code 1\nerror at line ${n}`, { error: true }),
    );
    expect(fold(...same).errors).toHaveLength(1);
    const words = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay"];
    const many = words.map((word) =>
      tool("bash", { command: `run ${word}` }, `Exit code 1\nerror: ${word}`, { error: true }),
    );
    const facts = fold(...many);
    expect(facts.errors.map(({ text }) => text)).toEqual(words.slice(2).map((word) => `error: ${word}`));
    expect(facts.omitted.errors).toBe(2);
  });

  it("[C47] takes no search without a hit for an error", () => {
    expect(
      fold(tool("bash", { command: "npm ls | grep zod" }, "<returncode>1</returncode>\n<output>\n</output>"))
        .errors,
    ).toEqual([]);
  });
});

describe("the task list", () => {
  const states = (...nodes: Parameters<typeof span>[0]) =>
    fold(...nodes).plan.map(({ text, state }) => [text, state]);

  it("[C48] is the newest list that a call carries, whatever the tool is called", () => {
    expect(
      states(
        tool("TodoWrite", { todos: [{ content: "a", status: "pending", activeForm: "x" }] }, "ok"),
        tool(
          "update_plan",
          {
            plan: [
              { step: "b", status: "completed" },
              { step: "c", status: "in_progress" },
              { step: "d", status: "cancelled" },
            ],
          },
          "ok",
        ),
      ),
    ).toEqual([
      ["b", "done"],
      ["c", "doing"],
      ["d", "dropped"],
    ]);
    expect(
      states(
        tool(
          "todo",
          {
            items: [
              { title: "e", done: true },
              { title: "f", done: false },
            ],
          },
          "ok",
        ),
      ),
    ).toEqual([
      ["e", "done"],
      ["f", "open"],
    ]);
  });

  it("[C48] follows tasks that are made and changed one by one, by the id that the result tells", () => {
    expect(
      states(
        tool(
          "TaskCreate",
          { subject: "paint", description: "in red" },
          "Task #7 created successfully: paint",
        ),
        tool("TaskCreate", { subject: "dry", description: "" }, "Task #8 created successfully: dry"),
        tool("TaskUpdate", { taskId: "7", status: "completed" }, "Updated task #7"),
      ),
    ).toEqual([
      ["paint", "done"],
      ["dry", "open"],
    ]);
  });

  it("[C48] does not change by a call that failed, nor by other lists", () => {
    expect(
      states(
        tool("TodoWrite", { todos: [{ content: "a", status: "pending" }] }, "ok"),
        tool("TodoWrite", { todos: [{ content: "b", status: "pending" }] }, "rejected", { error: true }),
        tool("MultiEdit", { file_path: "x", edits: [{ old_string: "a", new_string: "b" }] }, "ok"),
      ),
    ).toEqual([["a", "open"]]);
  });

  it("[C48] lets finished tasks go first when it is long", () => {
    const todos = Array.from({ length: 80 }, (_, n) => ({
      content: `task ${n}`,
      status: n < 60 ? "completed" : "pending",
    }));
    const facts = fold(tool("TodoWrite", { todos }, "ok"));
    expect(facts.plan.filter(({ state }) => state === "open")).toHaveLength(20);
    expect(facts.plan.length + facts.omitted.plan).toBe(80);
  });

  it("[C48] keeps the plan in prose that was accepted, not one that was refused", () => {
    expect(fold(tool("ExitPlanMode", { plan: "1. dig\n2. plant" }, "approved")).planText?.text).toBe(
      "1. dig\n2. plant",
    );
    expect(
      fold(tool("ExitPlanMode", { plan: "1. burn" }, "The user rejected it", { error: true })).planText,
    ).toBeUndefined();
  });
});

describe("where the work stands", () => {
  it("[C49] is the assistant's last text, with one line of each that came shortly before", () => {
    const facts = fold(
      user("go"),
      ...Array.from({ length: 12 }, (_, n) => assistant(`step ${n}\nmore of it`)),
    );
    expect(facts.latest?.text).toBe("step 11\nmore of it");
    expect(facts.progress.map(({ text }) => text)).toEqual(
      [5, 6, 7, 8, 9, 10].map((n) => `step ${n} more of it`),
    );
  });

  it("[C49] keeps beginning and end of a long last text", () => {
    const facts = fold(assistant(`Verdict: good. ${"blah ".repeat(900)}Next: deploy.`));
    expect(facts.latest?.text).toMatch(/^Verdict: good\./);
    expect(facts.latest?.tail).toMatch(/Next: deploy\.$/);
  });
});
