import { describe, expect, it } from "vitest";
import { commandFiles } from "../../src/compaction/facts/command-files.ts";
import { parseShell } from "../../src/compaction/facts/shell.ts";

const touched = (command: string): string[] =>
  commandFiles(command)
    .touches.map(({ path, operation }) => `${operation} ${path}`)
    .sort();

describe("files in commands", () => {
  const cases: [string, string[]][] = [
    ["cat src/a.ts", ["read src/a.ts"]],
    ["cd /r && cat src/a.ts b.md | head -20", ["read /r/b.md", "read /r/src/a.ts"]],
    ["cd /r/x; cd y && cat ./z.ts", ["read /r/x/y/./z.ts"]],
    ["sed -n '1,50p' lib/a.py", ["read lib/a.py"]],
    ["sed -i 's/a\\/b/c/g' lib/a.py lib/b.py", ["written lib/a.py", "written lib/b.py"]],
    ["sed -i '' 's/a/b/' x.ts", ["written x.ts"]],
    ["echo hi > out.txt", ["written out.txt"]],
    ["make 2> err.log >> all.log", ["written all.log", "written err.log"]],
    ["make >/dev/null 2>&1", []],
    ["cp a.ts b.ts", ["read a.ts", "written b.ts"]],
    ["mv old/a.ts new/a.ts", ["deleted old/a.ts", "written new/a.ts"]],
    ["rm -rf build/out.js", ["deleted build/out.js"]],
    ["mkdir -p a/b && touch a/b/c", ["created a/b", "created a/b/c"]],
    ["grep -rn 'foo bar' src/lib tests", ["searched src/lib", "searched tests"]],
    ['grep -A 20 "name" src/a.ts | head -30', ["searched src/a.ts"]],
    ["rg -e pattern -g '*.ts' packages", ["searched packages"]],
    ['find /testbed -type f -name "*.py" | xargs grep -l "x/y"', ["searched /testbed"]],
    ["find src lib -name '*.ts'", ["searched lib", "searched src"]],
    ["python tests/run.py --config=conf/a.toml", ["read conf/a.toml", "read tests/run.py"]],
    ["python -m pytest tests/test_a.py::test_b -x", ["read tests/test_a.py"]],
    ["./scripts/build.sh", ["read ./scripts/build.sh"]],
    ["bash -lc 'cat a/b.ts && rm c.ts'", ["deleted c.ts", "read a/b.ts"]],
    ["FOO=1 sudo tee /etc/x.conf < in.txt", ["read in.txt", "written /etc/x.conf"]],
    ["git rm a/b.ts", ["deleted a/b.ts"]],
    ["git checkout src/a.py", ["written src/a.py"]],
    ["git diff HEAD~1..HEAD -- src/a.go", ["read src/a.go"]],
    ["git push origin feature/x && git log main..HEAD", []],
    ["go build ./cmd/... && npm run check", []],
    ["curl https://example.com/a/b.json -o out/b.json", ["read out/b.json"]],
    ["npm i @scope/pkg && echo $HOME/x.ts *.ts", []],
    [
      "cat > new.py << 'EOF'\nopen('other.py')\nrm gone.ts\nEOF\ncat after.ts",
      ["read after.ts", "written new.py"],
    ],
    ["# rm a.ts\ncat b.ts # c.ts", ["read b.ts"]],
    ["vim foo.ts:12:3; tsc -p web/tsconfig.json:4", ["read foo.ts", "read web/tsconfig.json"]],
  ];
  it.each(cases)("[C43] reads %s", (command, expected) => {
    expect(touched(command)).toEqual([...expected].sort());
  });

  it("[C43] gives what it can not read no path, and never throws", () => {
    for (const command of [
      "",
      "'",
      '"',
      "\\",
      "<<",
      ">",
      "cat <<EOF",
      "$(",
      "`",
      "a\u0000b",
      "cat '",
      "bash -c",
      "bash -c 'bash -c \"bash -c x\"'",
    ]) {
      expect(() => commandFiles(command)).not.toThrow();
    }
  });

  it("[C46] tells a pipe from an alternative", () => {
    const piped = (command: string) => parseShell(command).commands.map((simple) => simple.piped);
    expect(piped("a | b")).toEqual([true, false]);
    expect(piped("a || b")).toEqual([false, false]);
  });
});
