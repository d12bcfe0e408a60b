import { type Prepared, SessionApi } from "./api.ts";
import type { Client } from "./client.ts";
import type { Json, Session } from "./import/session.ts";
import { Judge } from "./judge.ts";
import { createOracle, type Oracle } from "./oracle.ts";
import { utf8 } from "./raw.ts";
import type { PlayResult, StepRecord } from "./record.ts";
import { settle } from "./settle.ts";

/**
 * The harness and the provider of a replay: asks `/prepare` before each assistant message, has the answer judged, and
 * posts the recorded reply with the exact count of that request as usage.
 */

/** A route of the built-in table whose tokens are o200k's. */
export const replayRoute = "replay/o200k";

/** Below this window a request says how much output it wants: the default reserve would take a quarter of the window. */
const smallWindow = 32_000;
const smallOutput = 1_024;

export interface PlayOptions {
  /** Window of the route, tokens. */
  window: number;
  /** Of a session that does not exist yet. */
  sessionId: string;
  policy?: Json;
  /** Called after each accepted reply. `steps` is how many there will be. */
  onStep?: (record: StepRecord, steps: number) => void;
  /** Milliseconds. */
  now?: () => number;
}

interface Batch {
  entering: string[];
  /** Absent for what stands after the last reply. */
  reply: string | undefined;
  /** Whether the reply answers a request: not when nothing stands before it, like the greeting of a chat. */
  asks: boolean;
}

/**
 * Plays a session through the API behind `client` and checks every answer.
 * @throws PlayError when the server refuses a step for another reason than `irreducible`; Error when it stays away.
 */
export async function playSession(
  session: Session,
  client: Client,
  options: PlayOptions,
  oracle: Oracle = createOracle(session.dialect),
): Promise<PlayResult> {
  const { window, policy, sessionId, onStep, now = () => performance.now() } = options;
  const began = now();
  const api = new SessionApi(client, sessionId);
  const envelope = envelopeOf(session);
  const judge = new Judge(oracle, window, {
    tokens: oracle.envelope(session.system, session.tools),
    bytes: utf8(envelope).length,
  });
  const maxOutput =
    window < smallWindow ? Math.min(smallOutput, Math.max(1, Math.floor(window / 4))) : undefined;
  const head = `{${envelope}${maxOutput === undefined ? "" : `"maxOutput":${maxOutput},`}"messages":[`;
  const steps = session.messages.filter(({ kind }) => kind === "assistant").length;

  await api.configure({
    dialect: session.dialect,
    route: replayRoute,
    capacity: { window, ...(maxOutput === undefined ? {} : { maxOutput }) },
    ...(policy === undefined ? {} : { policy }),
  });
  for (const { entering, reply, asks } of batches(session)) {
    const asked = now();
    const answer = asks ? await api.prepare(`${head}${entering.join(",")}]}`) : undefined;
    if (reply === undefined || answer === undefined) {
      if (asks) judge.refused();
      const messages = reply === undefined ? entering : [...entering, reply];
      judge.repaired += (await api.append(messages.map(messageItem))).repaired;
      judge.appended(messages);
      continue;
    }
    const record = judge.prepared(entering, answer, now() - asked);
    await postReply({ api, judge, oracle, session }, answer, reply, record.tokens);
    onStep?.(record, steps);
  }
  const posted = session.messages.map(({ json }) => json);
  return resultOf(session, judge, await settle(api, oracle, posted, judge.past), window, now() - began);
}

/** What enters before each reply. */
function* batches(session: Session): Generator<Batch> {
  let entering: string[] = [];
  for (const [index, { kind, json }] of session.messages.entries()) {
    if (kind !== "assistant") {
      entering.push(json);
      continue;
    }
    yield { entering, reply: json, asks: index > 0 };
    entering = [];
  }
  if (entering.length > 0) yield { entering, reply: undefined, asks: false };
}

/** The members of a `/prepare` body that do not change, as JSON text. */
function envelopeOf({ system, tools }: Session): string {
  const members: string[] = [];
  if (system !== undefined) members.push(`"system":${JSON.stringify(system)},`);
  if (tools !== undefined) members.push(`"tools":${JSON.stringify(tools)},`);
  return members.join("");
}

function messageItem(json: string): string {
  return `{"type":"message","message":${json}}`;
}

interface Replying {
  api: SessionApi;
  judge: Judge;
  oracle: Oracle;
  session: Session;
}

async function postReply(
  { api, judge, oracle, session }: Replying,
  { prepareId }: Prepared,
  reply: string,
  input: number,
): Promise<void> {
  const output = oracle.message(utf8(reply));
  const usage =
    session.dialect === "anthropic"
      ? { input_tokens: input, output_tokens: output }
      : { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  const items = [messageItem(reply), JSON.stringify({ type: "usage", usage })];
  judge.replied(reply, (await api.append(items, prepareId)).head);
}

function resultOf(
  session: Session,
  judge: Judge,
  settled: Awaited<ReturnType<typeof settle>>,
  window: number,
  ms: number,
): PlayResult {
  const { records } = judge;
  const sum = (pick: (record: StepRecord) => number) =>
    records.reduce((total, record) => total + pick(record), 0);
  const tokensIn = sum(({ tokens }) => tokens);
  return {
    messages: session.messages.length,
    calls: session.messages.reduce((total, { calls }) => total + calls, 0),
    steps: records.length,
    repaired: judge.repaired,
    window,
    threshold: settled.threshold,
    maxPressure: records.reduce((highest, { pressure }) => Math.max(highest, pressure), 0),
    generation: settled.generation,
    prunes: settled.prunes,
    checkpoints: settled.checkpoints,
    tokensIn,
    tokensSaved: sum(({ uncompacted }) => uncompacted) - tokensIn,
    irreducible: judge.irreducible,
    illegalSurfaces: judge.illegal,
    overWindow: judge.over,
    auditDrift: settled.auditDrift,
    ms: Math.round(ms),
    records,
    faults: [...judge.faults, ...settled.faults],
  };
}
