/** A client's request on its way to a provider: what bounds it, and how it breaks. */
import { describe, expect, it } from "vitest";
import { BrokenCall, type DispatchLimits, dispatch } from "../../src/providers/dispatch.ts";

const upstream = {
  provider: "acme",
  model: "m",
  baseUrl: "https://acme.test/v1",
  dialect: "openai-chat",
} as const;
const limits: DispatchLimits = { firstByteMs: 60, idleMs: 30, totalMs: 5_000, answerBytes: 1_000 };
const encoder = new TextEncoder();

function send(
  answer: (request: Request) => Response | Promise<Response>,
  signal = new AbortController().signal,
) {
  const call = ((input: RequestInfo, init?: RequestInit) =>
    Promise.resolve(answer(new Request(input, init)))) as typeof fetch;
  return dispatch(upstream, encoder.encode("{}"), { headers: new Headers(), signal, limits, fetch: call });
}

/** A body that says its pieces one after the other, each behind so many milliseconds. */
function slowly(...pieces: [wait: number, text: string][]): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      for (const [wait, text] of pieces) {
        await new Promise((resolve) => setTimeout(resolve, wait));
        controller.enqueue(encoder.encode(text));
      }
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

async function why(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof BrokenCall ? error.why : `not broken: ${String(error)}`;
}

describe("a request that is dispatched", () => {
  it("[V46] goes to the provider's endpoint and comes back as it is", async () => {
    const sent = await send(
      (request) => new Response(request.url, { status: 201, headers: { "x-request-id": "r" } }),
    );
    expect([sent.status, sent.streams, sent.headers.get("x-request-id")]).toEqual([201, false, "r"]);
    expect(new TextDecoder().decode(await sent.whole())).toBe("https://acme.test/v1/chat/completions");
  });

  it("[V46] breaks when the network does, when the provider is silent, and when nobody wants it", async () => {
    expect(await why(send(() => Promise.reject(new TypeError("refused"))))).toBe("network");
    expect(await why(send(() => new Promise(() => {})))).toBe("idle");
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 10);
    expect(await why(send(() => new Promise(() => {}), abort.signal))).toBe("cancelled");
  });

  it("[V46] gives the first byte more time than the silence behind it", async () => {
    const patient = await send(() => slowly([45, "a"], [10, "b"]));
    expect(new TextDecoder().decode(await patient.whole())).toBe("ab");
    const stalled = await send(() => slowly([5, "a"], [400, "b"]));
    expect(await why(stalled.whole())).toBe("idle");
  });

  it("[V46] bounds an answer, and is led nowhere", async () => {
    const large = await send(() => new Response("x".repeat(1_001)));
    expect(await why(large.whole())).toBe("too-large");
    const elsewhere = () =>
      new Response(null, { status: 307, headers: { location: "https://elsewhere.test/" } });
    expect(await why(send(elsewhere))).toBe("redirect");
  });
});
