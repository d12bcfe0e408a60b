import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { httpClient, problemCode } from "../../../cli/client.ts";
import { textOf } from "../../../cli/raw.ts";

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

type Reply = "break" | [status: number, body: string];

/** Answers one reply after the other and remembers what was asked. */
async function serve(...replies: Reply[]) {
  const seen: string[] = [];
  const own = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      seen.push(`${request.headers["idempotency-key"]} ${request.headers.authorization} ${body}`);
      const reply = replies.shift() ?? [500, "nothing left to say"];
      if (reply === "break") request.socket.destroy();
      else response.writeHead(reply[0]).end(reply[1]);
    });
  });
  server = own;
  await new Promise<void>((resolve) => own.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(own.address() as AddressInfo).port}/`, seen };
}

describe("the client", () => {
  it("repeats a request with the same key until a server that was away answers", async () => {
    const { url, seen } = await serve(
      "break",
      [502, "<html>bad gateway</html>"],
      [503, '{"code":"overloaded"}'],
      [200, "{}"],
    );
    const client = httpClient(url, { pause: 5, token: "t" });
    const answer = await client.request("POST", "/events", { body: '{"a":1}', key: "k" });
    expect([answer.status, textOf(answer.body)]).toEqual([200, "{}"]);
    expect(seen).toEqual(Array.from({ length: 4 }, () => 'k Bearer t {"a":1}'));
  });

  it("does not repeat what the server itself refused", async () => {
    const { url, seen } = await serve([409, '{"code":"stale-head"}'], [500, '{"code":"internal"}']);
    const client = httpClient(url, { pause: 5 });
    expect(problemCode(await client.request("GET", "/"))).toBe("stale-head");
    expect(problemCode(await client.request("GET", "/"))).toBe("internal");
    expect(seen).toHaveLength(2);
  });

  it("gives up after its patience, with the address and the reason", async () => {
    const { url } = await serve();
    server?.close();
    const client = httpClient(url, { pause: 5, patience: 40 });
    await expect(client.request("GET", "/")).rejects.toThrow(
      /^no answer from http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/,
    );
  });
});
