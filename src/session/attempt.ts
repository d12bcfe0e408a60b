/** A prepared request against the branch as it stands: read and counted once per head, looked at anew after every await. */
import type { Entering, Ground } from "../compaction/ground.ts";
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import type { StepRequest } from "../log/events.ts";
import type { RuntimeContext } from "../projections/runtime-context.ts";
import type { Core } from "./core.ts";
import { type Envelope, type EnvelopeParts, nextEnvelope } from "./envelope.ts";
import { type Ingested, ingest, type NodeKeys, type Raw } from "./ingest.ts";
import { checkFree, checkHead, checkSettled } from "./steps.ts";
import { withContext } from "./told-context.ts";

export interface PrepareRequest {
  branch: string | null;
  envelope: EnvelopeParts;
  messages: readonly Raw[];
  route?: string | undefined;
  maxOutput?: number | undefined;
  strict: boolean;
  expect?: number | undefined;
  /** See `projections/runtime-context.ts`: null that none is active, undefined that nothing is said. */
  runtimeContext?: RuntimeContext | null | undefined;
  /** Only where Plimsoll itself sends the request: the batch enters, and is accepted with the reply. */
  dispatch?: Dispatch;
}

export interface Dispatch {
  /** Link key and content key of each message of the batch, where it came by a drop-in request. */
  keys: readonly NodeKeys[];
  /** Nodes that the log holds already, for the first messages of the batch. */
  reused: readonly number[];
  /** The batch as it was read when it was matched. */
  ingested: Ingested;
  /** What is kept of the client's request, once the seq of its last message is known. */
  request: (node: number) => StepRequest | undefined;
}

/** The request as it stands against the branch now. */
export interface Attempt {
  branch: Branch;
  ground: Ground;
  envelope: Envelope;
  ingested: Ingested;
  entering: Entering;
  dispatch: Dispatch | undefined;
}

/** Looks at the branch anew each time; what was read and counted for the same head and envelope is kept. */
export function attempts(core: Core, id: number, request: PrepareRequest): () => Attempt {
  let kept: { head: number; hash: string; envelope: Envelope; ingested: Ingested } | undefined;
  return () => {
    const branch = core.log.branch(id);
    if (branch === undefined) throw new Refusal("unknown-session", "There is no such session.");
    checkHead(branch, request.expect);
    if (request.dispatch === undefined) checkFree(core.held, branch);
    checkSettled(branch);
    const ground = core.ground(id, request.route);
    if (kept === undefined || kept.head !== branch.tip || kept.hash !== branch.envelope) {
      const envelope = nextEnvelope(core.log, ground.meter, branch.envelope, request.envelope);
      const rules = { strict: request.strict, sends: true };
      const ingested = request.dispatch?.ingested ?? ingest(ground, branch, request.messages, rules);
      kept = { head: branch.tip, hash: branch.envelope, envelope, ingested };
    }
    const { envelope } = kept;
    // Told anew each time: a rung that shadows the last snapshot makes room for it in this very request.
    const ingested = withContext(ground, branch, kept.ingested, request.runtimeContext);
    const entering: Entering = {
      envelope: { tokens: envelope.tokens, bytes: envelope.bytes },
      batch: ingested.items,
      maxOutput: request.maxOutput,
    };
    return { branch, ground, envelope, ingested, entering, dispatch: request.dispatch };
  };
}
