// Every route of the API is sent bodies made from its schema; no answer shows what was planted at other tenants, or
// whether they exist.

import * as fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { SEED } from "../support/seed.ts";
import { ask, newTenant, operator, send } from "../support/workerd/admin.ts";

type Json = Readonly<Record<string, unknown>>;
interface Operation extends Json {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Json }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json }>> };
}

const METHODS = ["GET", "POST", "PUT", "DELETE"] as const;
/** In everything that others have, and in no request. */
const MARK = "kept-from-others";
const BASE = "base-of-others";
const HOSTNAME = "others.example.com";

let description: { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Json> } };
let token = "";
let mine = "";
let others = "";

beforeAll(async () => {
  description = JSON.parse(await (await send("GET", "/../openapi.json", { token: null })).text()) as typeof description;
  const theirs = (await operator("operator", { name: `${MARK}-operator` })).token;
  mine = await newTenant({ maxStalenessMs: 50, profiles: { p: {} }, scopes: { s: {} } });
  const document = {
    title: MARK,
    instructions: MARK,
    prompts: { [MARK]: { messages: [{ role: "user", content: { type: "text", text: MARK } }] } },
  };
  await ask("PUT", `/bases/${BASE}`, { token: theirs, json: { description: MARK } });
  others = await newTenant({ maxStalenessMs: 50, ...document, extends: [BASE], hostnames: [HOSTNAME] });
  token = (await operator("tenant-admin", { tenants: [mine] })).token;
  await operator("tenant-admin", { name: `${MARK}-admin`, tenants: [others] });
  for (const id of [mine, others]) {
    // Their operator works in both, and is nobody's business in either.
    await ask("POST", `/tenants/${id}/keys`, { token: theirs, json: { name: id === mine ? "k" : MARK } });
    await ask("PUT", `/tenants/${id}/resources/content?uri=note:a`, {
      token: theirs,
      body: id === mine ? "a" : MARK,
      headers: { "content-type": "text/plain" },
    });
    await ask("PUT", `/tenants/${id}/document`, {
      token: theirs,
      json: { ...(id === mine ? {} : document), maxStalenessMs: 51 },
    });
  }
  await ask("POST", `/tenants/${others}/suspensions`, { json: { kind: "tool", name: "add", note: MARK } });
});

const texts = () => fc.constantFrom(BASE, HOSTNAME, others, mine, "add", "p", "s", "note:a", "tool", "x", "0123456789");

const MAX_DEPTH = 6;

/** A value that fits the schema as often as not; references are followed, and not for ever. */
function valueOf(schema: Json, depth = 0): fc.Arbitrary<unknown> {
  const deeper = (one: unknown) => valueOf(one as Json, depth + 1);
  const { $ref, anyOf, enum: choices, const: only } = schema;
  if (depth > MAX_DEPTH) return fc.constant({});
  if (typeof $ref === "string") return deeper(description.components.schemas[$ref.split("/").at(-1) ?? ""] ?? {});
  if (only !== undefined) return fc.constant(only);
  if (Array.isArray(choices)) return fc.constantFrom(...(choices as unknown[]));
  return Array.isArray(anyOf) ? fc.oneof(...anyOf.map(deeper)) : typedValue(schema, deeper);
}

function typedValue(schema: Json, deeper: (one: unknown) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const { type, properties, required, items = {} } = schema;
  switch (type) {
    case "object": {
      if (properties === undefined) return fc.dictionary(texts(), fc.constant({}), { maxKeys: 1 });
      const members = Object.entries(properties as Json).map(([name, one]) => [name, deeper(one)] as const);
      return fc.record(Object.fromEntries(members), { requiredKeys: (required ?? []) as string[] });
    }
    case "array":
      return fc.array(deeper(items), { maxLength: 2 });
    case "integer":
    case "number":
      return fc.integer({ min: 0, max: 60 });
    case "boolean":
      return fc.boolean();
    default:
      return texts();
  }
}

interface SentRequest {
  readonly path: string;
  readonly json?: unknown;
}

function askedOf(path: string, { parameters = [], requestBody }: Operation, id: string): fc.Arbitrary<SentRequest> {
  const values = parameters
    .filter((one) => one.in !== "header" && one.name !== "id")
    .map((one) => [one.name, valueOf(one.schema)] as const);
  const required = parameters.filter((one) => one.in === "path" && one.name !== "id").map(({ name }) => name);
  const given = fc.record(Object.fromEntries(values), { requiredKeys: required });
  const body = requestBody?.content["application/json"];
  return fc
    .record({ given, json: body ? valueOf(body.schema) : fc.constant(undefined) })
    .map(({ given: all, json }) => {
      const left = new URLSearchParams();
      let filled = path.replace("/admin/v1", "").replace("{id}", id);
      for (const [name, value] of Object.entries(all)) {
        if (filled.includes(`{${name}}`)) filled = filled.replace(`{${name}}`, encodeURIComponent(String(value)));
        else left.set(name, typeof value === "boolean" ? String(Number(value)) : String(value));
      }
      return { path: left.size === 0 ? filled : `${filled}?${left}`, ...(json === undefined ? {} : { json }) };
    });
}

const operations = () =>
  Object.entries(description.paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const operation = methods[method.toLowerCase()];
      return operation ? [{ method, path, operation }] : [];
    }),
  );

async function told(method: (typeof METHODS)[number], { path, json }: SentRequest) {
  const response = await send(method, path, { token, ...(json === undefined ? {} : { json }) });
  const headers = [...response.headers].filter(([name]) => name !== "etag");
  return {
    status: response.status,
    text: `${JSON.stringify(headers)} ${new TextDecoder().decode(await response.arrayBuffer())}`,
  };
}

it("a tenant's administrator learns nothing of other tenants from any request", async () => {
  const seen = new Map<string, number>();
  const names = [BASE, HOSTNAME, others];
  const namedIn = (text: string) => names.filter((name) => text.includes(name));
  const all = operations().flatMap(({ method, path, operation }) => {
    // Their own tenant stays as it is: what it is asked for afterwards must be there.
    const isEnd = method === "DELETE" && path.endsWith("/{id}");
    const asking = isEnd ? [] : fc.sample(askedOf(path, operation, mine), { ...SEED, numRuns: 12 });
    return asking.map((request) => ({ method, path, request, repeated: namedIn(JSON.stringify(request)) }));
  });
  // Last what writes names of others into their own tenant: from then on these are their own to read.
  const writesNames = ({ method, repeated }: (typeof all)[number]) => method !== "GET" && repeated.length > 0;
  for (const { method, path, request, repeated } of [
    ...all.filter((one) => !writesNames(one)),
    ...all.filter((one) => writesNames(one)),
  ]) {
    const { status, text } = await told(method, request);
    // What was named in the request may be repeated.
    const theirs = [MARK, ...(method === "GET" || repeated.length === 0 ? names : [])].filter(
      (name) => !repeated.includes(name),
    );
    expect({ method, asked: request, named: theirs.filter((name) => text.includes(name)) }).toEqual({
      method,
      asked: request,
      named: [],
    });
    expect(status).toBeLessThan(500);
    if (status < 300) seen.set(path, (seen.get(path) ?? 0) + 1);
  }
  // Not all are refused: a document, keys, suspensions, resources and the log were read.
  expect(seen.size).toBeGreaterThan(6);
}, 120_000);

it("a tenant's administrator gets the same answer for another tenant as for an unknown name", async () => {
  for (const { method, path, operation } of operations().filter((one) => one.path.includes("{id}"))) {
    const asking = fc.sample(askedOf(path, operation, "ID-OF-IT"), { ...SEED, numRuns: 3 });
    for (const request of asking) {
      const answers = [others, "nobody-at-all"].map(async (id) => {
        const { status, text } = await told(method, { ...request, path: request.path.replace("ID-OF-IT", id) });
        return JSON.stringify([status, text.replaceAll(id, "ID").replaceAll(/"requestId":"[^"]+"/g, "")]);
      });
      const [one, other] = await Promise.all(answers);
      expect({ method, asked: request, one }).toEqual({ method, asked: request, one: other });
    }
  }
}, 120_000);

it("the log that a tenant's administrator sees names their own people, and no operator of the platform", async () => {
  await ask("PUT", `/tenants/${mine}/document`, { token, json: { title: "mine", maxStalenessMs: 50 } });
  const { body } = await ask("GET", `/tenants/${mine}/audit`, { token });
  const actors = (body as { items: { actor: string }[] }).items.map(({ actor }) => actor);
  expect([...new Set(actors)].toSorted()).toEqual([expect.stringMatching(/^op-\d+-[\da-f]+$/), "operator"]);
  const whole = (await ask("GET", `/tenants/${mine}/audit`)).body as { items: { actor: string }[] };
  expect(whole.items.map(({ actor }) => actor)).toContain(`${MARK}-operator`);
});
