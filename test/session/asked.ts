/** The request that an answer of `/prepare` makes, as it goes to the model. */
import type { Meta } from "../../src/log/events.ts";
import { storedEnvelope } from "../../src/session/envelope.ts";
import type { Prepared } from "../../src/session/landing.ts";
import { renderSurface } from "../../src/session/render.ts";
import { textOf } from "../support/naive-messages.ts";
import type { World } from "../support/world.ts";
import type { Request } from "./deeds.ts";

export function requestOf(world: World, branch: number, { json, head, view, envelope }: Prepared): Request {
  const { log, core } = world;
  const prepareId = String(json.prepareId);
  const step = log.event(Number(prepareId.slice(1)))!.meta as Meta<"step/start">;
  const { system, tools } = storedEnvelope(log, envelope).parts;
  return {
    dialect: world.dialect,
    route: step.route ?? "",
    system: system === undefined ? "" : textOf(system),
    tools: tools === undefined ? "" : textOf(tools),
    messages: renderSurface(log, core.dialect(), head, view === 0 ? undefined : log.view(view)),
    branch,
    prepareId,
  };
}
