/** Bad input through the whole Worker: a 4xx problem with a stable code and the place, nothing written, nothing echoed. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it } from "vitest";
import { sessionClient } from "../support/client.ts";
import { checkRigs, openRig, type Problem, type Rig, said, usage, user } from "../support/rig.ts";
import { badInputs, SECRET } from "./bad-input.ts";

afterEach(checkRigs);

async function look(rig: Rig): Promise<string> {
  return JSON.stringify([await rig.events(), await rig.surface()]);
}

describe("each of these is refused, written nowhere, and not echoed", () => {
  it.each(badInputs)(
    "[G23] $what",
    async ({ method = "POST", path = "/", body, headers, code, status, at }) => {
      const rig = await openRig();
      const before = await look(rig);
      const response = await rig.session.request(method, path, body, headers);
      const text = await response.text();
      const problem = JSON.parse(text) as Problem;
      expect(problem).toMatchObject({ type: `urn:plimsoll:problem:${code}`, code, status });
      expect(response.status).toBe(status);
      if (at !== undefined) expect(problem.at).toBe(at);
      expect(text).not.toContain(SECRET);
      expect(await look(rig)).toBe(before);
    },
  );
});

describe("a session that is not there", () => {
  const asks: [string, string, unknown?][] = [
    ["GET", "/"],
    ["GET", "/surface"],
    ["GET", "/events"],
    ["GET", "/pressure"],
    ["GET", "/branches"],
    ["GET", "/checkpoints"],
    ["GET", "/audit"],
    ["POST", "/events", { items: [said(user("a")), usage(1)] }],
    ["POST", "/prepare", { messages: [user("a")] }],
    ["POST", "/overflow", { prepareId: "p1", status: 400 }],
    ["POST", "/compact"],
    ["POST", "/compact/undo"],
    ["POST", "/cancel"],
    ["POST", "/branches", { from: 0 }],
    ["DELETE", "/"],
  ];
  it("[G24] is 404 on every route but PUT, and no database is created for asking", async () => {
    const session = sessionClient();
    for (const [method, path, body] of asks) {
      const response = await session.request(method, path, body);
      expect([path, response.status, (await response.json<Problem>()).code]).toEqual([
        path,
        404,
        "unknown-session",
      ]);
    }
    const tables = await runInDurableObject(session.stub(), (_, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray(),
    );
    expect(tables).toEqual([]);
  });

  it("[G24] also after a PUT that was refused, and after a DELETE", async () => {
    const session = sessionClient();
    expect((await session.request("PUT", "/", { dialect: "telex" })).status).toBe(400);
    expect((await session.request("GET", "/")).status).toBe(404);
    await session.expect(201, "PUT", "/", { dialect: "anthropic" });
    await session.expect(204, "DELETE", "/");
    expect((await session.request("GET", "/")).status).toBe(404);
    await session.expect(201, "PUT", "/", { dialect: "openai-chat" });
  });

  it("[G24] an id out of pattern never reaches an object", async () => {
    for (const id of ["-a", ".a", "a%20b", "a%2Fb", "a".repeat(129), "%00", "ü"]) {
      const response = await sessionClient(id).request("PUT", "/", { dialect: "openai-chat" });
      expect([id, response.status]).toEqual([id, 400]);
      expect((await response.json<Problem>()).code).toBe("bad-id");
    }
  });
});

describe("sizes", () => {
  it("[G25] a message over 8 MiB, and a body over 32 MiB: 413, nothing written", async () => {
    const rig = await openRig({ capacity: {} });
    const before = await look(rig);
    const node = { messages: [user("a"), user("x".repeat(8 * 1024 * 1024))] };
    expect(await rig.refused("POST", "/prepare", node)).toMatchObject({
      code: "too-large",
      status: 413,
      at: "messages[1]",
    });
    const body = { messages: Array.from({ length: 5 }, () => user("x".repeat(7 * 1024 * 1024))) };
    expect(await rig.refused("POST", "/prepare", body)).toMatchObject({ code: "too-large", status: 413 });
    expect(await look(rig)).toBe(before);
  });

  it("[G25] a message of just under 8 MiB is taken", async () => {
    const rig = await openRig({ capacity: {} });
    const { seqs } = await rig.say(user("x".repeat(8 * 1024 * 1024 - 100)));
    expect(seqs).toHaveLength(1);
  });
});
