/** A request that is not managed: sent as it came but for the model's name, answered as it comes, and nothing of it kept. */
import { upstreamBody } from "../../dialects/request/upstream.ts";
import { BrokenCall, dispatch } from "../../providers/dispatch.ts";
import type { Core } from "../core.ts";
import { brokenAnswer, passedAnswerHeaders } from "../outbound/answers.ts";
import { type Arrival, logUnmanaged } from "./arrival.ts";

/** @param because why: logged, unless the mode is off. */
export async function relayUnmanaged(core: Core, arrival: Arrival, because: string): Promise<Response> {
  const { request, upstream, headers, key, route, dialect, signal } = arrival;
  if (because !== "off") logUnmanaged(core, route, because);
  const own = { "plimsoll-managed": "0" };
  const body = upstreamBody(request, {
    model: request.model === "" ? "" : upstream.model,
    messages: undefined,
  });
  try {
    const sent = await dispatch(upstream, body, { headers, key, signal, fetch: core.parts.fetch });
    const chunks = sent.chunks();
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          controller.error(error);
        }
      },
      async cancel() {
        await chunks.return();
      },
    });
    return new Response(stream, {
      status: sent.status,
      headers: { ...passedAnswerHeaders(sent.headers), ...own },
    });
  } catch (error) {
    if (!(error instanceof BrokenCall)) throw error;
    const { status, body: told } = brokenAnswer(dialect, error.why);
    return new Response(told, { status, headers: { "content-type": "application/json", ...own } });
  }
}
