/**
 * Which files a shell command touches, by what its programs are known to do. A word that is no plain path is
 * left out; a wrong guess costs a line in a list, never more.
 */
import { oneLine } from "../clip.ts";
import type { FileOperation, FileTouch } from "./files.ts";
import { joinPath, looksLikePath, mayBePath } from "./paths.ts";
import { parseShell, type SimpleCommand } from "./shell.ts";

const words = (list: string): ReadonlySet<string> => new Set(list.split(" "));

/** Programs whose plain arguments are files that they read, look through, make, remove. */
const readers = words(
  "cat head tail less more bat nl wc file stat diff cmp strings source . open code vi vim nano sort uniq " +
    "cut column xxd od md5sum shasum sha256sum realpath dirname basename",
);
const finders = words("grep egrep fgrep rg ag ack find fd ls tree du");
const makers = words("touch tee truncate mkdir ln");
const removers = words("rm rmdir unlink");
const movers = words("cp mv install");
/** Programs whose first argument is a pattern or a script, not a file. */
const scripted = words("grep egrep fgrep rg ag ack fd sed awk gawk perl jq yq");
/** Options of the programs above whose next word is a value, not a file. */
const valued = words(
  "-e -f -g -t -d -k --regexp --file --include --exclude --exclude-dir --type --glob --max-depth",
);
/** Words in front of the program that runs. */
const fronts = words(
  "sudo time nohup env command exec then do else if while until ! xargs timeout nice stdbuf",
);
/** Programs that look and change nothing: a command of only these is no deed worth a line. */
const idle = words(
  "cd pwd echo printf which type true false test [ sleep date whoami env export set unset done fi esac for " +
    "in tr seq exit return",
);
const lookingGit = words(
  "status log diff show branch blame remote rev-parse ls-files reflog describe config grep",
);

/** Units of a command's line. */
const MAX_LINE = 160;

/** A shell in a shell is read this deep. */
const MAX_DEPTH = 2;

export interface CommandFiles {
  touches: FileTouch[];
  /**
   * The command on one line, when it does more than look at files or move them about: the files tell that.
   */
  line?: string;
  /** What ran stands in front of a pipe, so that its end says nothing about it. */
  piped: boolean;
}

/** @param from the folder that the command runs in, "" when unknown. */
export function commandFiles(command: string, from = "", depth = 0): CommandFiles {
  const touches: FileTouch[] = [];
  let deed = false;
  let piped = false;
  let folder = from;
  const { commands, plain } = parseShell(command);
  for (const simple of commands) {
    const run = runOf(simple);
    if (run.program === "cd" || run.program === "pushd") {
      const target = run.args.find((word) => mayBePath(word) || word === "..");
      if (target !== undefined) folder = joinPath(folder, target);
      continue;
    }
    const inner = depth < MAX_DEPTH ? innerScript(run) : undefined;
    const nested = inner === undefined ? undefined : commandFiles(inner, folder, depth + 1);
    const isOne = nested === undefined ? isDeed(run) : nested.line !== undefined;
    deed ||= isOne;
    piped ||= isOne && (simple.piped || nested?.piped === true);
    if (nested !== undefined) {
      touches.push(...nested.touches);
      continue;
    }
    const found = [
      ...touchesOf(run),
      ...each("read", simple.reads.filter(mayBePath)),
      ...each("written", simple.writes.filter(mayBePath)),
    ];
    for (const { path, operation } of found) touches.push({ path: joinPath(folder, path), operation });
  }
  return deed ? { touches, piped, line: lineOf(plain) } : { touches, piped };
}

/**
 * A command on one line, without the folder it goes to first (the paths tell it) and without what only trims
 * its output.
 */
function lineOf(plain: string): string {
  let line = oneLine(
    plain.slice(0, 2_048).replace(/^\s{0,8}cd [^\s;&|]{1,400}\s{0,4}(?:&&|;|\n)/, ""),
    MAX_LINE,
  );
  for (;;) {
    const shorter = line.replace(/ (?:2>&1|2>\/dev\/null|\|\|? true|\| (?:head|tail)(?: -n)? ?-?\d+)$/, "");
    if (shorter === line) return line;
    line = shorter;
  }
}

interface Run {
  /** The program's name, and the word that names it. */
  program: string;
  word: string;
  args: string[];
}

function runOf({ words: all }: SimpleCommand): Run {
  let at = 0;
  while (at < all.length) {
    const word = all[at]!;
    const skipped =
      fronts.has(word) || /^[A-Za-z_]\w*=/.test(word) || (at > 0 && /^-|^\d+[smh]?$/.test(word));
    if (!skipped) break;
    at++;
  }
  const word = all[at] ?? "";
  return { program: word.slice(word.lastIndexOf("/") + 1), word, args: all.slice(at + 1) };
}

function innerScript({ program, args }: Run): string | undefined {
  if (!/^(?:ba|z|da|k)?sh$/.test(program)) return undefined;
  const flag = args.findIndex((word) => /^-[a-z]*c$/.test(word));
  return flag < 0 ? undefined : args[flag + 1];
}

function isDeed({ program, args }: Run): boolean {
  if (program === "") return false;
  if (program === "git") return !lookingGit.has(gitCommand(args)[0] ?? "status");
  return ![readers, finders, makers, removers, movers, scripted, idle].some((known) => known.has(program));
}

function touchesOf(run: Run): FileTouch[] {
  const { program } = run;
  const plain = plainArguments(run);
  if (program === "git") return gitTouches(run);
  if (movers.has(program)) {
    return [
      ...each(program === "mv" ? "deleted" : "read", plain.slice(0, -1)),
      ...each("written", plain.slice(-1)),
    ];
  }
  if (program === "sed" || program === "perl") {
    return each(run.args.some((word) => /^-[a-zA-Z]*i/.test(word)) ? "written" : "read", plain);
  }
  if (makers.has(program)) return each(program === "tee" ? "written" : "created", plain);
  if (removers.has(program)) return each("deleted", plain);
  if (finders.has(program)) return each("searched", plain);
  if (readers.has(program) || scripted.has(program)) return each("read", plain);
  return idle.has(program) ? [] : each("read", [run.word, ...run.args].map(bare).filter(looksLikePath));
}

function each(operation: FileOperation, paths: readonly string[]): FileTouch[] {
  return paths.map((path) => ({ path, operation }));
}

/** A word without the option in front (`--file=…`) and the place behind (`…:12`, `…::test`). */
function bare(word: string): string {
  const value = /^--[\w-]+=/.exec(word)?.[0].length ?? 0;
  const place = word.indexOf("::");
  return word.slice(value, place < 0 ? undefined : place).replace(/:\d+(?::\d+)?$/, "");
}

/**
 * The arguments that may be files: `find` has them in front of its tests, scripted programs behind their
 * script.
 */
function plainArguments({ program, args }: Run): string[] {
  if (program === "find") {
    const end = args.findIndex((word) => word.startsWith("-"));
    return (end < 0 ? args : args.slice(0, end)).map(bare).filter(mayBePath);
  }
  const plain = args.filter(
    (word, at) => word !== "" && !/^-|^\d+$/.test(word) && !valued.has(args[at - 1] ?? ""),
  );
  const hasScript = scripted.has(program) && !args.some((word) => /^(?:-e|-f|--regexp|--file)$/.test(word));
  return (hasScript ? plain.slice(1) : plain).map(bare).filter(mayBePath);
}

function gitCommand(args: readonly string[]): string[] {
  let at = 0;
  while (at < args.length && args[at]!.startsWith("-")) at += args[at] === "-C" || args[at] === "-c" ? 2 : 1;
  return args.slice(at);
}

function gitTouches({ args }: Run): FileTouch[] {
  const [command = "", ...rest] = gitCommand(args);
  const paths = rest.map(bare).filter(looksLikePath);
  if (command === "rm") return each("deleted", paths);
  if (command === "mv") return [...each("deleted", paths.slice(0, -1)), ...each("written", paths.slice(-1))];
  return each(command === "checkout" || command === "restore" ? "written" : "read", paths);
}
