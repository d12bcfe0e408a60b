/** Requests as drop-in clients send them, with the one tenant's token. */
import type { FakeGateway } from "./fake-sessions.ts";

export const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "hello" }] });
export const bearer = { authorization: "Bearer secret" };

export const post = (
  gateway: FakeGateway,
  path: string,
  headers: Record<string, string> = {},
  text: BodyInit = body,
) => gateway.send("POST", path, { headers: { ...bearer, ...headers }, body: text });
