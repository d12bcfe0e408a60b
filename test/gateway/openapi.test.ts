import { expect, it } from "vitest";
import { policySchema } from "../../src/compaction/policy.ts";
import { addressOf } from "../../src/gateway/addresses.ts";
import { openapi as makeOpenapi } from "../../src/gateway/openapi.ts";
import { nativeRoutes } from "../../src/gateway/routes.ts";
import { fakeGateway } from "./fake-sessions.ts";

const openapi = makeOpenapi();
const { schemas } = openapi.components;

type Item = Record<string, { operationId?: string; responses?: Record<string, unknown> }>;

/** Every object in the document, with its place. */
function* objects(value: unknown, at = "#"): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [at, value as Record<string, unknown>];
  for (const [key, child] of Object.entries(value))
    yield* objects(child, `${at}/${key.replaceAll("/", "~1")}`);
}

it("[G11] is served as JSON and names OpenAPI 3.1", async () => {
  const answer = await fakeGateway().send("GET", "/openapi.json");
  expect(answer.headers.get("content-type")).toBe("application/json");
  const document = await answer.json<typeof openapi>();
  expect(document).toEqual(JSON.parse(JSON.stringify(openapi)));
  expect(document.openapi).toBe("3.1.0");
});

it("[G11] describes exactly the routes that the gateway lets through, each with its answer and its refusals", () => {
  const described = Object.entries(openapi.paths as Record<string, Item>).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => method !== "parameters")
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  const known = Object.entries(nativeRoutes).flatMap(([path, methods]) =>
    methods.map((method) => `${method} /v1/sessions/{id}${path === "/" ? "" : path}`),
  );
  // The drop-in paths are described by their own list, and each leads to an endpoint.
  const dropIns = described.filter((route) => /\/(openai|anthropic)\//.test(route));
  for (const route of dropIns) {
    const [method = "", path = ""] = route.split(" ");
    expect([route, addressOf(method, path)?.target?.kind]).toEqual([
      route,
      path.includes("/models") ? "models" : "step",
    ]);
  }
  expect(dropIns).toHaveLength(16);
  expect(described.filter((route) => !dropIns.includes(route)).sort()).toEqual(
    [...known, "GET /healthz", "GET /openapi.json"].sort(),
  );
  const ids = new Set<string>();
  for (const [path, item] of Object.entries(openapi.paths as Record<string, Item>)) {
    for (const [method, operation] of Object.entries(item)) {
      if (method === "parameters") continue;
      ids.add(operation.operationId ?? "");
      const statuses = Object.keys(operation.responses ?? {});
      expect(statuses.some((status) => /^[12]/.test(status))).toBe(true);
      if (path.startsWith("/v1"))
        expect(statuses).toEqual(expect.arrayContaining(["400", "401", "404", "500"]));
    }
  }
  expect(ids.size).toBe(described.length);
});

it("[G11] every reference leads somewhere and every template in a path is a parameter", () => {
  let references = 0;
  for (const [at, value] of objects(openapi)) {
    if (typeof value.$ref !== "string") continue;
    references++;
    const name = value.$ref.replace("#/components/schemas/", "");
    expect([at, Object.hasOwn(schemas, name)]).toEqual([at, true]);
  }
  expect(references).toBeGreaterThan(20);
  for (const [path, item] of Object.entries(openapi.paths as Record<string, Record<string, unknown>>)) {
    const wanted = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const parameters = (item.parameters ?? []) as { name: string; in: string; required?: boolean }[];
    const given = parameters.filter((parameter) => parameter.in === "path" && parameter.required);
    expect(given.map((parameter) => parameter.name)).toEqual(wanted);
  }
});

it("[G11] required members exist, and the policy has the keys that the session takes", () => {
  for (const [at, value] of objects(openapi.components.schemas)) {
    if (!Array.isArray(value.required)) continue;
    const properties = Object.keys((value.properties ?? {}) as object);
    expect([at, value.required.filter((name) => !properties.includes(name))]).toEqual([at, []]);
  }
  const settings = schemas.Settings as {
    properties: { policy: { properties: object } };
    additionalProperties: boolean;
  };
  expect(Object.keys(settings.properties.policy.properties).sort()).toEqual(
    Object.keys(policySchema.shape).sort(),
  );
  expect(settings.additionalProperties).toBe(false);
  expect(schemas.Prepare).toMatchObject({ required: ["messages"], additionalProperties: false });
  expect(schemas.BranchOpening).toMatchObject({
    required: ["from"],
    properties: { name: { type: "string" } },
  });
});
