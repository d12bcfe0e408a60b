import { describe, expect, it } from "vitest";
import { authenticate, type Gate } from "../../src/gateway/auth.ts";
import { codeOf, fakeGateway, readAll } from "./fake-sessions.ts";

const two: Gate = {
  tokens: [
    { name: "acme", token: "old" },
    { name: "acme", token: "new" },
    { name: "globex", token: "g:with:colons" },
  ],
  devOpen: false,
};
const closed: Gate = { tokens: [], devOpen: false };
const devOnly: Gate = { tokens: [], devOpen: true };
const devToo: Gate = { ...two, devOpen: true };

const far = "https://plimsoll.example/v1/sessions/s";
const near = "http://localhost:8787/v1/sessions/s";

function ask(gate: Gate, url: string, headers: Record<string, string> = {}): string {
  try {
    return authenticate(new Request(url, { headers }), gate);
  } catch (error) {
    return (error as { failure: { code: string } }).failure.code;
  }
}

describe("[G1] a token names its tenant", () => {
  it.each([
    ["Bearer", { authorization: "Bearer old" }, "acme"],
    ["a second token of the same name", { authorization: "Bearer new" }, "acme"],
    ["the scheme in any case", { authorization: "bearer old" }, "acme"],
    ["x-api-key", { "x-api-key": "g:with:colons" }, "globex"],
    ["Bearer before x-api-key", { authorization: "Bearer old", "x-api-key": "g:with:colons" }, "acme"],
    ["x-api-key beside another scheme", { authorization: "Basic Zm9v", "x-api-key": "old" }, "acme"],
    [
      "a wrong Bearer beside a right x-api-key",
      { authorization: "Bearer no", "x-api-key": "old" },
      "unauthorized",
    ],
    ["no credentials", {}, "unauthorized"],
    ["an empty Bearer", { authorization: "Bearer " }, "unauthorized"],
    ["an empty x-api-key", { "x-api-key": "" }, "unauthorized"],
    ["a prefix of a token", { authorization: "Bearer ol" }, "unauthorized"],
    ["a token with more behind it", { authorization: "Bearer oldx" }, "unauthorized"],
    ["a token in another case", { authorization: "Bearer OLD" }, "unauthorized"],
    ["the name as the token", { authorization: "Bearer acme" }, "unauthorized"],
    ["the pair as the token", { authorization: "Bearer acme:old" }, "unauthorized"],
    ["a token with a word behind it", { authorization: "Bearer old new" }, "unauthorized"],
  ])("[G1] %s", (_, headers, answer) => {
    expect(ask(two, far, headers)).toBe(answer);
  });

  it("[G1] a token of one deployment without tokens is 503, not 401: nobody could be let in", () => {
    expect(ask(closed, far, { authorization: "Bearer old" })).toBe("not-configured");
    expect(ask(closed, near)).toBe("not-configured");
  });
});

describe("[G2] DEV_OPEN counts over loopback alone", () => {
  it.each([
    ["localhost", near, {}, "dev"],
    ["127.0.0.1", "http://127.0.0.1:1234/", {}, "dev"],
    ["127.8.8.8", "http://127.8.8.8/", {}, "dev"],
    ["[::1]", "http://[::1]:1234/", {}, "dev"],
    ["an Origin on loopback", near, { origin: "http://localhost:3000" }, "dev"],
    ["any token, for clients that insist on one", near, { authorization: "Bearer anything" }, "dev"],
    ["an Origin elsewhere", near, { origin: "https://evil.example" }, "not-configured"],
    ["an opaque Origin", near, { origin: "null" }, "not-configured"],
    [
      "an Origin that begins like loopback",
      near,
      { origin: "http://localhost.evil.example" },
      "not-configured",
    ],
    ["another host", far, {}, "not-configured"],
    ["a host that begins like loopback", "http://localhost.evil.example/", {}, "not-configured"],
    ["a host that ends like loopback", "http://127.0.0.1.evil.example/", {}, "not-configured"],
    ["loopback in the user part", "http://localhost@evil.example/", {}, "not-configured"],
    ["an address of the local network", "http://192.168.1.5/", {}, "not-configured"],
    ["all addresses", "http://0.0.0.0/", {}, "not-configured"],
    ["a Host header of another name", near, { host: "evil.example" }, "not-configured"],
  ])("[G2] %s", (_, url, headers, answer) => {
    expect(ask(devOnly, url, headers)).toBe(answer);
  });

  it.each([
    ["no token", near, {}, "dev"],
    ["a right token", near, { authorization: "Bearer old" }, "acme"],
    ["a wrong token", near, { authorization: "Bearer no" }, "unauthorized"],
    ["no token from elsewhere", far, {}, "unauthorized"],
  ])("[G2] beside configured tokens: %s", (_, url, headers, answer) => {
    expect(ask(devToo, url, headers)).toBe(answer);
  });
});

it("[G1] a refused request names no object and gets a problem document", async () => {
  const gateway = fakeGateway();
  const refused = await gateway.send("GET", "/v1/sessions/s", { headers: { authorization: "Bearer no" } });
  expect(refused.status).toBe(401);
  expect(refused.headers.get("www-authenticate")).toBe('Bearer realm="plimsoll"');
  expect(await codeOf(refused)).toBe("unauthorized");
  const without = fakeGateway(readAll, { gate: closed });
  const closedDown = await without.send("GET", "/v1/sessions/s");
  expect(closedDown.status).toBe(503);
  expect(await codeOf(closedDown)).toBe("not-configured");
  expect([...gateway.named, ...without.named]).toEqual([]);
});

it("[G1] a tenant reaches its own sessions alone, whatever the request says of itself", async () => {
  const gateway = fakeGateway(readAll, { gate: two });
  const url = "/v1/sessions/s";
  const claims = { "plimsoll-tenant": "globex", "plimsoll-session": "other" };
  await gateway.send("GET", url, { headers: { authorization: "Bearer old", ...claims } });
  await gateway.send("GET", url, { headers: { "x-api-key": "g:with:colons" } });
  expect(gateway.named).toEqual(["acme:s", "globex:s"]);
  const headers = gateway.reached[0]?.request.headers;
  expect(headers?.get("plimsoll-tenant")).toBe("acme");
  expect(headers?.get("plimsoll-session")).toBe("s");
  expect(headers?.has("plimsoll-token")).toBe(false);
});

it("[G33] plimsoll-token goes before every other token, and stays at the gateway", async () => {
  const gateway = fakeGateway(readAll, { gate: two });
  const send = (headers: Record<string, string>) => gateway.send("GET", "/v1/sessions/s", { headers });
  expect((await send({ "plimsoll-token": "old", authorization: "Bearer sk-vendor" })).status).toBe(200);
  expect((await send({ "plimsoll-token": "Bearer old", "x-api-key": "g:with:colons" })).status).toBe(200);
  expect((await send({ "plimsoll-token": "no", authorization: "Bearer old" })).status).toBe(401);
  expect((await send({ authorization: "Bearer sk-vendor" })).status).toBe(401);
  expect(gateway.named).toEqual(["acme:s", "acme:s"]);
  for (const { request } of gateway.reached) {
    expect(request.headers.has("plimsoll-token")).toBe(false);
    expect(request.headers.has("plimsoll-forwarded-authorization")).toBe(false);
  }
});
