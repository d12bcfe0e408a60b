/** A session in memory to which lists of messages are sent as drop-in requests would be, without a provider. */
import type { DialectName } from "../../../src/dialects/dialect.ts";
import { dialectOf } from "../../../src/dialects/registry.ts";
import { utf8Bytes } from "../../../src/log/json-edit.ts";
import { createMemoryLog } from "../../../src/log/memory-log.ts";
import { behind, keysBehind, matchList, recentBranches } from "../../../src/session/dropin/match.ts";
import { type Placed, place } from "../../../src/session/dropin/place.ts";
import { giveUp, landReply } from "../../../src/session/outbound/reply.ts";
import { prepare } from "../../../src/session/prepare.ts";
import { messagesAt } from "../../../src/session/read.ts";
import { memoryIdempotency, World } from "../../support/world.ts";

export const user = (content: string) => ({ role: "user", content });
export const said = (content: string) => ({ role: "assistant", content });
export const calls = (...ids: string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "read", arguments: "{}" } })),
});
export const result = (id: string, content = `result of ${id}`) => ({
  role: "tool",
  tool_call_id: id,
  content,
});

export class Lines {
  readonly dialect: DialectName;
  readonly world: World;

  constructor(dialect: DialectName = "openai-chat") {
    this.dialect = dialect;
    this.world = new World(createMemoryLog(), memoryIdempotency(), dialect);
  }

  get core() {
    return this.world.core;
  }

  /** Matches and places a list; the branch stays held until `reply` or `refuse`. */
  arrive(messages: readonly object[]): Placed {
    const { core } = this;
    const raws = messages.map((message, index) => ({ bytes: bytesOf(message), at: `messages[${index}]` }));
    const bytes = raws.map((raw) => raw.bytes);
    const keys = keysBehind(core.log, this.dialect, 0, bytes);
    const first = raws[0] && core.dialect({ dialect: this.dialect }).read(raws[0].bytes, raws[0].at);
    const match = matchList(
      core.log,
      recentBranches(core, this.dialect),
      { node: 0, count: 0 },
      keys,
      () => first?.restarts === true,
    );
    const rest = behind(core.log, match, { from: 0, raws, keys });
    return place(core, match, { dialect: this.dialect, ...rest });
  }

  async start(messages: readonly object[]): Promise<Placed> {
    const placed = this.arrive(messages);
    const { name, head } = this.core.log.branch(placed.branch)!;
    const { raws, branch: _, ...dispatch } = placed;
    const request = { ...dispatch, request: () => undefined };
    await prepare(
      this.core,
      { branch: name, envelope: {}, messages: raws, strict: true, expect: head, dispatch: request },
      () => {},
    );
    return placed;
  }

  /** A choice of several items is a list. */
  reply({ branch }: Placed, ...choices: (object | object[])[]): void {
    const { log } = this.core;
    const tip = log.branch(branch)!.tip;
    landReply(this.core, branch, {
      choices: choices.map((choice) => {
        const items = [choice].flat().map(bytesOf);
        return {
          raws: items.map((bytes) => ({ bytes, at: "reply" })),
          keys: keysBehind(log, this.dialect, tip, items),
        };
      }),
      usage: undefined,
      told: {},
    });
    this.core.held.delete(branch);
  }

  refuse({ branch }: Placed): void {
    giveUp(this.core, branch, { type: "step/failed", meta: { reason: "refused", status: 400 } });
    this.core.held.delete(branch);
  }

  /** A whole step: the branch's name. */
  async step(messages: readonly object[], ...choices: (object | object[])[]): Promise<string> {
    const placed = await this.start(messages);
    this.reply(placed, ...choices);
    return this.core.log.branch(placed.branch)!.name;
  }

  /** What the branch shows, decoded. */
  shown(name: string): unknown[] {
    const { id, tip, view } = this.core.log.branchNamed(name)!;
    const decoder = new TextDecoder();
    return messagesAt(this.core, id, tip, view).map((bytes) => JSON.parse(decoder.decode(bytes)) as unknown);
  }

  /** Nodes that the log holds. */
  nodes(): number {
    const all = { limit: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER };
    return this.core.log.read(0, all).filter((row) => row.node !== null).length;
  }
}

function bytesOf(message: object): Uint8Array {
  return utf8Bytes(JSON.stringify(message));
}

export const dialect = dialectOf("openai-chat");
