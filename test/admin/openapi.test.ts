import { Validator } from "@cfworker/json-schema";
import { expect, it } from "vitest";
import { ROUTES } from "../../src/admin/routes/all-routes.ts";
import { adminEnv, appOf, ask, newTenant, ORIGIN } from "../support/workerd/admin.ts";

interface Media {
  readonly schema?: Json;
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: Json }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, Media>>; description?: string }>>;
}
type Json = Readonly<Record<string, unknown>>;
interface Description {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

const response = await appOf().fetch(new Request(`${ORIGIN}/admin/openapi.json`), adminEnv);
const description: Description = await response.json();
const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

it("the OpenAPI description needs no token, and says which version it is of", () => {
  expect(response.status).toBe(200);
  expect([description.openapi, description.info.version]).toEqual(["3.1.1", "1.2.3"]);
});

it("the description lists every route, and nothing else", () => {
  const named = (list: readonly { path: string; method: string }[]) =>
    list.map(({ path, method }) => `${method} ${path}`).toSorted();
  expect(named(operations)).toEqual(
    named(ROUTES.map(({ path, method }) => ({ path: `/admin/v1${path}`, method: method.toLowerCase() }))),
  );
});

it("the description names each operation once, and each parameter of its path", () => {
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
  for (const { path, operation } of operations) {
    const inPath = operation.parameters.filter((parameter) => parameter.in === "path" && parameter.required);
    expect(inPath.map(({ name }) => name).toSorted()).toEqual(
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).toSorted(),
    );
    expect(operation.summary).not.toBe("");
  }
});

it("the description refers to nothing that is not there", () => {
  const text = JSON.stringify(description);
  const references = [...text.matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference ?? "");
  expect(references.length).toBeGreaterThan(0);
  for (const reference of references) {
    let at: unknown = description;
    for (const part of reference.slice(2).split("/")) at = (at as Json | undefined)?.[part];
    expect(at, reference).toBeDefined();
  }
  expect(text).not.toContain("$defs");
});

it("the schemas of the description hold for the answers", async () => {
  const id = await newTenant({ title: "T", profiles: { p: {} } });
  const samples: Readonly<Record<string, unknown>> = {
    "get /admin/v1/tenants/{id}": (await ask("GET", `/tenants/${id}`)).body,
    "get /admin/v1/tenants": (await ask("GET", "/tenants")).body,
    "get /admin/v1/tenants/{id}/audit": (await ask("GET", `/tenants/${id}/audit`)).body,
  };
  for (const { path, method, operation } of operations) {
    const { schema } = operation.responses["200"]?.content?.["application/json"] ?? {};
    if (!schema) continue;
    const validator = new Validator({ ...schema, components: description.components }, "2020-12");
    const sample = samples[`${method} ${path}`];
    expect(validator.validate(sample ?? 7).valid, `${method} ${path}`).toBe(sample !== undefined);
  }
});

it("the description says what may be sent, with its rules", () => {
  const put = description.paths["/admin/v1/tenants/{id}/document"]?.["put"];
  expect(put?.requestBody?.content).toEqual({
    "application/json": { schema: { $ref: "#/components/schemas/TenantDocument" } },
  });
  expect(description.components.schemas["TenantDocument"]).toMatchObject({
    additionalProperties: false,
    properties: { maxStalenessMs: { type: "integer", minimum: 50 } },
  });
  const list = description.paths["/admin/v1/tenants"]?.["get"];
  expect(list?.parameters.find(({ name }) => name === "limit")).toMatchObject({
    in: "query",
    required: false,
    schema: { type: "integer", minimum: 1, default: 100 },
  });
});
