/**
 * A step on its way: compacted first if it must be, sent, its reply stored. It goes on when the client leaves; whatever happens, the branch
 * is free again at the end.
 */
import type { DialectName } from "../../dialects/dialect.ts";
import { Refusal } from "../../failure.ts";
import { pingFrame } from "../../providers/reply/errors.ts";
import type { Flight } from "../../turn/flight.ts";
import { runTurn, type TurnWork } from "../../turn/run-turn.ts";
import type { Core } from "../core.ts";
import type { Prepared } from "../landing.ts";
import { failureAnswer, ownHeaders } from "./answers.ts";
import { giveUp } from "./reply.ts";

/** After so long without a word of the provider a stream begins with pings, so that no client takes it for dead (design.md 8.4). */
const QUIET_MS = 15_000;

export interface Departure {
  dialect: DialectName;
  branch: number;
  prepare(): Promise<Prepared>;
  work(prepared: Prepared): TurnWork;
}

/** Never throws: what goes wrong is told to the clients of the flight. */
export async function fly(core: Core, departure: Departure, flight: Flight): Promise<void> {
  const { branch } = departure;
  const pings = flight.parts.streams ? keepAwake(core, departure, flight) : undefined;
  try {
    const prepared = await departure.prepare();
    await runTurn(departure.work(prepared), flight);
    // Whoever comes back with the same body asks for this reply.
    if (flight.left) core.broken.add(prepared.step);
  } catch (error) {
    core.forget();
    giveUp(core, branch, { type: "step/failed", meta: { reason: "error" } });
    tell(core, departure, flight, error);
    if (!(error instanceof Refusal)) core.parts.defect(error);
  } finally {
    clearInterval(pings);
    core.held.delete(branch);
    core.flights.delete(branch);
    core.parts.landed();
  }
}

function tell(core: Core, { dialect, branch }: Departure, flight: Flight, error: unknown): void {
  if (flight.over) return;
  const { status, headers, body, frame } = failureAnswer(dialect, error);
  if (flight.isCommitted) {
    flight.pass(frame);
    flight.end();
  } else flight.answer(status, { ...ownHeaders(core, branch), ...headers }, body);
}

function keepAwake(
  core: Core,
  { dialect, branch }: Departure,
  flight: Flight,
): ReturnType<typeof setInterval> {
  return setInterval(() => {
    if (flight.over || flight.begun) return;
    flight.commit({
      ...ownHeaders(core, branch),
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
    });
    flight.ping(pingFrame(dialect));
  }, QUIET_MS);
}
