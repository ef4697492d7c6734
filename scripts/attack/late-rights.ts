// Rights that end while a body is on its way: whoever was let in by what was true when it began must not write.

import { setTimeout as pause } from "node:timers/promises";
import { rowOf, type Attack, type Row } from "./report.ts";
import { argumentsFor, REVISIONS, toolsOf, valueFor, type Json, type Target } from "./target.ts";

const BEGUN_MS = 300;

interface Withdrawal {
  readonly what: string;
  withdraw(target: Target, tenant: string, key: string): Promise<unknown>;
}

const WITHDRAWALS: readonly Withdrawal[] = [
  { what: "key revoked", withdraw: (by, id, key) => by.must("DELETE", `/tenants/${id}/keys/${key}`) },
  {
    what: "tenant suspended",
    withdraw: (by, id) => by.must("POST", `/tenants/${id}/suspensions`, { kind: "tenant", note: "x" }),
  },
  {
    what: "key suspended",
    withdraw: (by, id, key) =>
      by.must("POST", `/tenants/${id}/suspensions`, { kind: "principal", name: key, note: "x" }),
  },
  { what: "tenant deleted", withdraw: (by, id) => by.must("DELETE", `/tenants/${id}`) },
];

export const lateRights: Attack = {
  name: "late rights",
  classes: ["a check before the last wait"],
  run: async (target) => [await callers(target), await operators(target)],
};

async function callers(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  let tried = 0;
  const rounds = WITHDRAWALS.flatMap((withdrawal) => REVISIONS.map((revision) => ({ ...withdrawal, revision })));
  await Promise.all(
    rounds.map(async (round) => {
      const { what, revision } = round;
      const tenant = await target.tenant({ mode: "key" });
      const { id, token } = await target.key(tenant);
      const options = { key: token, revision };
      const writing = (await toolsOf(target, tenant, options)).filter(
        ({ annotations }) => annotations?.readOnlyHint !== true,
      );
      const held = writing.map((tool) => ({
        name: tool.name,
        slow: target.slowCall(tenant, "tools/call", { name: tool.name, arguments: argumentsFor(tool) }, options),
      }));
      await pause(BEGUN_MS);
      await round.withdraw(target, tenant, id);
      for (const { name, slow } of held) {
        tried += 1;
        const { status, text } = await slow.finish().catch((error: unknown) => ({ status: 0, text: String(error) }));
        if (status === 200 && !/"(?:error|isError)":/.test(text))
          gaveWay.push(`${name} ran after "${what}" (${revision})`);
      }
    }),
  );
  const what = `${tried} calls whose body was held back while ${WITHDRAWALS.map((one) => one.what).join(", ")}`;
  return rowOf("1 revoked access still writes", what, gaveWay, "every one refused");
}

interface Operation {
  readonly method: string;
  readonly path: string;
  /** One that its schema takes; undefined: it takes none. */
  readonly body: unknown;
}

/** Every route of the admin API that takes a body. */
export async function operationsOf(target: Target): Promise<readonly Operation[]> {
  const { json } = await target.send("/admin/openapi.json");
  const paths = json.paths as Readonly<Record<string, Readonly<Record<string, Json>>>>;
  const { schemas } = json.components as { readonly schemas: Readonly<Record<string, Json>> };
  const bodyOf = (about: Json) => {
    const content = (about.requestBody as Json | undefined)?.content as Readonly<Record<string, Json>> | undefined;
    const schema = content?.["application/json"]?.schema as Json | undefined;
    return content && (schema ? sampleOf(schema, schemas) : "attack");
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, about]) => ({
      method: method.toUpperCase(),
      path: path.replace(/^\/admin\/v1/, ""),
      body: bodyOf(about),
    })),
  );
}

/** What a schema takes, with no more than it wants. */
function sampleOf(schema: Json, schemas: Readonly<Record<string, Json>>): unknown {
  if (typeof schema.$ref === "string") return sampleOf(schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}, schemas);
  const choice = ((schema.anyOf ?? schema.oneOf ?? []) as Json[])[0];
  if (choice) return sampleOf(choice, schemas);
  if (schema.type !== "object") return valueFor(schema);
  const { required = [], properties = {} } = schema as { required?: string[]; properties?: Record<string, Json> };
  return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {}, schemas)]));
}

/** A path with its places filled by what exists, or might. */
export function pathIn(path: string, places: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(places[name] ?? "attacked"));
}

async function operators(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const routes = (await operationsOf(target)).filter(({ body }) => body !== undefined);
  const tenant = await target.tenant();
  let valid = 0;
  for (const role of ["owner", "operator", "tenant-admin"]) {
    const { name, token } = await target.operator(role, role === "tenant-admin" ? [tenant] : undefined);
    const held = routes.map(({ method, path, body }) => {
      const query = path.endsWith("/content") ? "?uri=note%3A%2F%2Flate" : "";
      const url = `/admin/v1${pathIn(path, { id: tenant, kind: "tool" })}${query}`;
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const headers = { "content-type": "application/json" };
      const begin = (by: string) => target.slow(method, url, { ...headers, authorization: `Bearer ${by}` }, text);
      return { what: `${method} ${path} by ${role}`, begin, slow: begin(token) };
    });
    await pause(BEGUN_MS);
    await target.must("DELETE", `/operators/${name}`);
    for (const { what, begin, slow } of held) {
      const { status } = await slow.finish().catch(() => ({ status: 0 }));
      if (status >= 200 && status < 300) gaveWay.push(`${what}: ${status}`);
      // The same by who may: otherwise nothing was shown.
      else if (role === "owner" && (await begin(target.adminToken).finish()).status < 300) valid += 1;
    }
  }
  if (valid === 0 && gaveWay.length === 0) gaveWay.push("no body was one that is taken: nothing was tried");
  const what = `${routes.length} admin routes with a body, by 3 roles, finished after the operator was removed`;
  return rowOf(
    "1 removed operators still write",
    what,
    gaveWay,
    `none did; an owner's same ${valid} requests were taken`,
  );
}
