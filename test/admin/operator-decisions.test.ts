// A tenant-admin sends every write of the admin API, with bodies made from its schema. A new route or member is tried
// without being listed here.

import { sample } from "fast-check";
import { expect, it } from "vitest";
import { adminEnv, appOf, ask, newTenant, operator, ORIGIN, waitForRollout, send } from "../support/workerd/admin.ts";
import { resolved, samplesOf, type JsonSchema } from "./schema-samples.ts";
import { SEED } from "../support/seed.ts";

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: JsonSchema }>> };
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

interface Explanation {
  readonly callable: boolean;
  readonly reasons: readonly string[];
}

const described = await appOf().fetch(new Request(`${ORIGIN}/admin/openapi.json`), adminEnv);
const description: Description = await described.json();

const SUSPENDED = [
  { kind: "tenant" },
  { kind: "profile", name: "p" },
  { kind: "principal", name: "anonymous" },
  { kind: "tool", name: "greet" },
] as const;

/** What an operator may have decided, as the tenant's administrator can find it named. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  kind: SUSPENDED.map(({ kind }) => kind),
  name: ["p", "anonymous", "greet", "wipe", "bound", "tenant", "b.example"],
  key: ["0123456789"],
};

/** How many bodies each route is tried with, for each of its paths. */
const BODIES = 8;

const writes = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([method]) => method !== "get")
    .map(([method, { requestBody }]) => ({
      method: method.toUpperCase() as "POST" | "PUT" | "DELETE",
      path: path.replace("/admin/v1", ""),
      readable: "get" in methods,
      schema: requestBody?.content["application/json"]?.schema,
    })),
);

/** Every path that the template stands for, with the names above. */
function pathsOf(template: string, id: string): string[] {
  let paths = [template.replace("/tenants/{id}", `/tenants/${id}`)];
  for (const [, name = ""] of template.matchAll(/\{(\w+)\}/g)) {
    paths = paths.flatMap((path) => (NAMED[name] ?? [id]).map((value) => path.replace(`{${name}}`, value)));
  }
  return [...new Set(paths)];
}

const itemsOf = async (path: string) => ((await ask("GET", path)).body as { items: unknown[] }).items;

async function decidedOf(id: string): Promise<unknown> {
  const { body } = await ask("GET", `/tenants/${id}`);
  const { effective, suspended, state } = body as {
    effective: Record<string, unknown>;
    suspended: unknown;
    state: unknown;
  };
  const { limits, hostnames, tools, extends: bases } = effective;
  // Of the reasons only an operator's: the administrator may add one, such as that a key is needed.
  const explained = async (name: string) => {
    const answer = (await ask("GET", `/tenants/${id}/explain?kind=tools&name=${name}`)).body as Explanation;
    return { callable: answer.callable, reasons: answer.reasons.filter((why) => /by us|greet\*/.test(why)) };
  };
  const [suspensions, blocked, writtenBases, operators, tenants, greet, wipe] = await Promise.all([
    itemsOf(`/tenants/${id}/suspensions`),
    itemsOf("/tools/blocked"),
    itemsOf("/bases"),
    itemsOf("/operators"),
    itemsOf("/tenants"),
    explained("greet"),
    explained("wipe"),
  ]);
  return {
    suspended,
    state,
    document: { limits, hostnames, tools, bases },
    suspensions: suspensions.filter((one) => (one as { note: string }).note === "by us"),
    blocked,
    bases: writtenBases,
    operators,
    tenants: tenants.length,
    greet,
    wipe,
  };
}

it("a tenant's administrator cannot undo a decision of an operator by any write", { timeout: 240_000 }, async () => {
  const bound = { tools: { "greet*": { enabled: false } }, bind: ["tools"] };
  await ask("PUT", "/bases/bound", { json: bound });
  const id = await newTenant({
    extends: ["bound"],
    profiles: { p: {} },
    hostnames: ["a.example"],
    limits: { keys: 3 },
    maxStalenessMs: 50,
  });
  const { token } = await operator("tenant-admin", { tenants: [id] });
  for (const one of SUSPENDED) {
    expect((await ask("POST", `/tenants/${id}/suspensions`, { json: { ...one, note: "by us" } })).status).toBe(200);
  }
  expect((await waitForRollout(ask("POST", "/tools/wipe/block", { json: { note: "by us" } }))).status).toBe(202);
  const decided = await decidedOf(id);

  const words = Object.values(NAMED).flat();
  const { schemas } = description.components;
  const drawn = (schema: JsonSchema, numRuns: number) =>
    sample(samplesOf(schema, schemas, words), { ...SEED, numRuns });
  /** Whole ones, and what can be read there now with one member replaced. */
  const bodiesOf = async (path: string, schema: JsonSchema, readable: boolean) => {
    const now = readable ? await send("GET", path, { token }) : undefined;
    const kept = now?.ok === true ? ((await now.json()) as object) : {};
    const { properties = {} } = resolved(schema, schemas) as { properties?: Readonly<Record<string, JsonSchema>> };
    const replaced = Object.entries(properties).flatMap(([name, member]) =>
      drawn(member, 4).map((value) => ({ ...kept, [name]: value })),
    );
    return [...drawn(schema, BODIES), ...replaced];
  };
  const answered = new Map<number, number>();
  const tried = await Promise.all(
    writes.flatMap(({ method, path, schema, readable }) =>
      pathsOf(path, id).map(async (to) => ({
        method,
        to,
        bodies: schema === undefined ? [undefined] : await bodiesOf(to, schema, readable),
      })),
    ),
  );
  const requests = tried.flatMap(({ method, to, bodies }) => bodies.map((json) => ({ method, to, json })));
  for (const { method, to, json } of requests) {
    const { status } = await send(method, to, json === undefined ? { token } : { token, json });
    answered.set(status, (answered.get(status) ?? 0) + 1);
    expect(status, `${method} ${to}`).toBeLessThan(500);
    // At once: what comes next could put it right again.
    if (status < 300) expect(await decidedOf(id), `${method} ${to} ${JSON.stringify(json)}`).toEqual(decided);
  }
  // The administrator got through somewhere: an API that refuses everything would prove nothing.
  expect(answered.get(200) ?? 0).toBeGreaterThan(10);
});
