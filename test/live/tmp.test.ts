import { expect, it } from "vitest";
import { runInDurableObject } from "cloudflare:test";
import { sessionClient } from "../support/client.ts";
it("close", async () => {
  const session = sessionClient();
  await session.expect(201, "PUT", "/", { dialect: "openai-chat" });
  const response = await session.request("GET", `/live`, undefined, { upgrade: "websocket" });
  const ws = response.webSocket!;
  ws.accept();
  let closed: unknown;
  ws.addEventListener("close", (e) => { closed = [e.code, e.reason, e.wasClean]; });
  ws.addEventListener("error", (e) => { closed = ["error", String(e)]; });
  ws.close();
  await new Promise((r) => setTimeout(r, 300));
  console.log("closed", JSON.stringify(closed));
  await runInDurableObject(session.stub(), (o, state) => { console.log(state.getWebSockets().length, state.getWebSockets().map(w => w.readyState)); });
});
