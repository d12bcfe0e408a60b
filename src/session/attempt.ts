/** A prepared request against the branch as it stands: read and counted once per head, looked at anew after every await. */
import type { Entering, Ground } from "../compaction/ground.ts";
import { Refusal } from "../failure.ts";
import type { Branch } from "../log/event-log.ts";
import type { Core } from "./core.ts";
import { type Envelope, type EnvelopeParts, nextEnvelope } from "./envelope.ts";
import { type Ingested, ingest, type Raw } from "./ingest.ts";
import { checkHead } from "./steps.ts";

export interface PrepareRequest {
  branch: string | null;
  envelope: EnvelopeParts;
  messages: readonly Raw[];
  route?: string | undefined;
  maxOutput?: number | undefined;
  strict: boolean;
  expect?: number | undefined;
}

/** The request as it stands against the branch now. */
export interface Attempt {
  branch: Branch;
  ground: Ground;
  envelope: Envelope;
  ingested: Ingested;
  entering: Entering;
}

/** Looks at the branch anew each time; what was read and counted for the same head and envelope is kept. */
export function attempts(core: Core, id: number, request: PrepareRequest): () => Attempt {
  let kept: { head: number; hash: string; envelope: Envelope; ingested: Ingested } | undefined;
  return () => {
    const branch = core.log.branch(id);
    if (branch === undefined) throw new Refusal("unknown-session", "There is no such session.");
    checkHead(branch, request.expect);
    const ground = core.ground(id, request.route);
    if (kept === undefined || kept.head !== branch.head || kept.hash !== branch.envelope) {
      const envelope = nextEnvelope(core.log, ground.meter, branch.envelope, request.envelope);
      const rules = { strict: request.strict, sends: true };
      const ingested = ingest(ground, branch, request.messages, rules);
      kept = { head: branch.head, hash: branch.envelope, envelope, ingested };
    }
    const { envelope, ingested } = kept;
    const entering: Entering = {
      envelope: { tokens: envelope.tokens, bytes: envelope.bytes },
      batch: ingested.items,
      maxOutput: request.maxOutput,
    };
    return { branch, ground, envelope, ingested, entering };
  };
}
