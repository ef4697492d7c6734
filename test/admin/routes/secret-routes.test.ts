import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import type { ChangeResult, Problem, Secret, Infer } from "../../../src/admin/contract.ts";
import { toBase64Url } from "../../../src/auth/seal.ts";
import { createWorker, defineTool, type Env, UserError } from "../../../src/tenantry.ts";
import { MAX_SECRETS } from "../../../src/tenants/object/secret-methods.ts";
import {
  adminEnv,
  ask as askAs,
  newTenant,
  ORIGIN,
  rules,
  type Answered,
  type Asking,
} from "../../support/workerd/admin.ts";
import { rowsOf, tenantOf } from "../../support/workerd/tenant.ts";

/** What callers are not told, for a test to look at. */
const show = (error: unknown): never => {
  throw new UserError(String(error));
};

const SECRETS_KEY = toBase64Url(new Uint8Array(32).fill(1));
const OTHER_KEY = toBase64Url(new Uint8Array(32).fill(2));

type Done = Infer<typeof ChangeResult>;
type Method = Parameters<typeof askAs>[0];

const ask = (method: Method, path: string, asking: Asking = {}) =>
  askAs(method, path, { ...asking, env: { SECRETS_KEY, ...asking.env } });
const set = (tenant: string, name: string, value: string, query = "") =>
  ask("PUT", `/tenants/${tenant}/secrets/${name}${query}`, { json: { value } });
const list = async (tenant: string) =>
  ((await ask("GET", `/tenants/${tenant}/secrets`)).body as { items: Infer<typeof Secret>[] }).items;
const detailOf = ({ body }: Answered) => (body as Infer<typeof Problem>).detail;

const held = Promise.withResolvers<void>();
const worker = createWorker({
  tools: [
    defineTool({ name: "tell", input: {}, handler: (_args, ctx) => ctx.secret("token").catch(show) }),
    defineTool({
      name: "tell_late",
      input: {},
      handler: async (_args, ctx) => {
        const before = await ctx.secret("token");
        await held.promise;
        return `${before}, then ${await ctx.secret("token")}`;
      },
    }),
  ],
  hooks: { onError: () => {} },
});

/** What the tool says: another isolate would say the same, because only the snapshot is remembered. */
async function call(tenant: string, more: Record<string, string> = {}, tool = "tell"): Promise<string> {
  const request = new Request(`${ORIGIN}/mcp/${tenant}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: {} } }),
  });
  const ctx = createExecutionContext();
  const whole = { ...adminEnv, SECRETS_KEY, ...more } as unknown as Env;
  const response = await worker.fetch(request, whole, ctx);
  await waitOnExecutionContext(ctx);
  const { result } = await response.json<{ result: { content: { text: string }[] } }>();
  return result.content[0]?.text ?? "";
}

let id = "";
beforeEach(async () => {
  id = await newTenant({ maxStalenessMs: 300 });
});

describe("a secret", () => {
  it("is read by the tenant's tools, and not by another tenant's", async () => {
    const other = await newTenant({ maxStalenessMs: 300 });
    expect((await set(id, "TOKEN", "hush")).status).toBe(200);
    expect(await call(id)).toBe("hush");
    expect(await call(other)).toContain('no secret "TOKEN" is set for this tenant: npx tenantry secret set ');
  });

  it("is listed by its name, and its value is nowhere to be seen", async () => {
    await set(id, "token", "hush-hush");
    await set(id, "Api_Key", "hush-hush");
    expect(await list(id)).toEqual(
      ["API_KEY", "TOKEN"].map((name) => ({ name, updated: expect.any(String) as string })),
    );
    const shown = await Promise.all(
      ["", "/secrets", "/audit", "/export", "/document", "/usage"].map((part) => ask("GET", `/tenants/${id}${part}`)),
    );
    for (const { status, text } of shown) {
      expect(status).toBe(200);
      expect(text).not.toContain("hush");
    }
    expect(shown[2]?.text).toContain('"action":"secret.set","target":"secret TOKEN"');
    expect(JSON.stringify(await rowsOf(tenantOf(id), "SELECT * FROM secrets"))).not.toContain("hush");
  });

  it("is listed in pages", async () => {
    for (const name of ["A", "B", "C"]) await set(id, name, "x");
    const { body } = await ask("GET", `/tenants/${id}/secrets?limit=2`);
    const { items, cursor } = body as { items: Infer<typeof Secret>[]; cursor: string };
    expect(items.map(({ name }) => name)).toEqual(["A", "B"]);
    const rest = await ask("GET", `/tenants/${id}/secrets?limit=2&cursor=${cursor}`);
    expect((rest.body as { items: unknown[] }).items).toHaveLength(1);
  });

  it("overrides the Worker's secret for this tenant, until it is deleted", async () => {
    const ofWorker = { [`${id.replaceAll("-", "_").toUpperCase()}__TOKEN`]: "of the Worker" };
    expect(await call(id, ofWorker)).toBe("of the Worker");
    await ask("PUT", `/tenants/${id}/secrets/TOKEN`, { json: { value: "own" }, env: ofWorker });
    expect(await call(id, ofWorker)).toBe("own");
    await ask("DELETE", `/tenants/${id}/secrets/TOKEN`);
    expect(await call(id, ofWorker)).toBe("of the Worker");
  });

  it("of a tenant in code works alike", async () => {
    const options = { env: { SECRETS_KEY } };
    expect((await askAs("PUT", "/tenants/demo/secrets/TOKEN", { json: { value: "x" }, ...options })).status).toBe(200);
    expect(await list("demo")).toHaveLength(1);
  });

  it("has at most 8 KiB of UTF-8, and is read whole", async () => {
    const value = `${"ü".repeat(4094)}🗝`;
    expect((await set(id, "TOKEN", value)).status).toBe(200);
    expect(await call(id)).toBe(value);
  });

  it.each<[string, unknown, string]>([
    ["8193 bytes", { value: `${"ü".repeat(4096)}x` }, "value"],
    ["something else beside it", { value: "x", note: "y" }, "note"],
  ])("with %s is refused", async (_what, json, field) => {
    const refused = await ask("PUT", `/tenants/${id}/secrets/TOKEN`, { json });
    expect(rules(refused)).toEqual([422, [field, expect.any(String)]]);
    expect(await list(id)).toEqual([]);
  });

  it.each(["a__b", "_a", "a-b", "a.b", "%20", "x".repeat(65)])("under the name %s is refused", async (name) => {
    const rule = "1 to 64 of A-Z, 0-9 and single inner _";
    expect(rules(await set(id, name, "x"))).toEqual([422, ["name", rule]]);
  });

  it("of an unknown tenant is refused", async () => {
    expect((await set("nobody", "TOKEN", "x")).status).toBe(404);
  });

  it("goes with its tenant: one of the same name made later does not have it", async () => {
    await set(id, "TOKEN", "hush");
    expect((await ask("DELETE", `/tenants/${id}`)).status).toBe(204);
    await ask("POST", "/tenants", { json: { id, document: { mode: "open" } } });
    expect(await list(id)).toEqual([]);
    expect(await call(id)).toContain("no secret");
  });
});

describe("a change", () => {
  it("is acknowledged when no isolate can use the old value", async () => {
    await set(id, "TOKEN", "old");
    expect(await call(id)).toBe("old");
    for (const change of [() => set(id, "TOKEN", "new"), () => ask("DELETE", `/tenants/${id}/secrets/TOKEN`)]) {
      const leased = call(id);
      const { status, body } = await change();
      const { changed, effectiveAt } = body as Done;
      expect([status, changed]).toEqual([200, true]);
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(effectiveAt ?? ""));
      await leased;
    }
    expect(await call(id)).toContain("no secret");
  });

  it("is seen by the next call, and by a handler that began under the lease before", async () => {
    await set(id, "TOKEN", "old");
    const late = call(id, {}, "tell_late");
    expect(await call(id)).toBe("old");
    await set(id, "TOKEN", "new");
    expect(await call(id)).toBe("new");
    held.resolve();
    expect(await late).toBe("old, then new");
  });

  it("that adds a name answers at once with the time from which it applies, or waits with --wait", async () => {
    expect(await call(id)).toContain("no secret");
    const { body } = await set(id, "TOKEN", "x");
    expect(Date.parse((body as Done).effectiveAt ?? "")).not.toBeNaN();
    await set(id, "OTHER", "y", "?wait=1");
    expect(await call(id)).toBe("x");
  });

  it("that deletes an unknown name changes nothing", async () => {
    const { revision } = (await ask("DELETE", `/tenants/${id}/secrets/NOTHING`)).body as Done;
    const again = (await ask("DELETE", `/tenants/${id}/secrets/NOTHING`)).body as Done;
    expect(again).toMatchObject({ revision, changed: false });
  });

  it("that would be one secret too many is refused; a replacement is not", async () => {
    for (let at = 0; at < MAX_SECRETS; at += 1) await set(id, `S${at}`, "x");
    const refused = await set(id, "ONE_MORE", "x");
    expect([refused.status, detailOf(refused)]).toEqual([
      409,
      `The tenant ${id} already has ${MAX_SECRETS} secrets, the maximum`,
    ]);
    expect((await set(id, "S1", "y")).status).toBe(200);
  });
});

describe("without the key that sealed it", () => {
  it.each([
    ["none", "", "This Worker cannot seal secrets. Set SECRETS_KEY"],
    ["a short one", "c2hvcnQ", "The Worker's SECRETS_KEY is invalid"],
    ["one that is no base64url", "!".repeat(43), "The Worker's SECRETS_KEY is invalid"],
    ["a good and a bad one", `${SECRETS_KEY},c2hvcnQ`, "The Worker's SECRETS_KEY is invalid"],
  ])("a Worker with %s keeps no secret and says how to mend that", async (_what, key, says) => {
    const options = { json: { value: "x" }, env: { SECRETS_KEY: key } };
    const refused = await askAs("PUT", `/tenants/${id}/secrets/TOKEN`, options);
    expect(refused.status).toBe(409);
    expect(detailOf(refused)).toContain(says);
    expect(await list(id)).toEqual([]);
  });

  it("a tool gets an error instead of a value, and the Worker's secret does not stand in", async () => {
    await set(id, "TOKEN", "hush");
    const ofWorker = { [`${id.replaceAll("-", "_").toUpperCase()}__TOKEN`]: "of the Worker" };
    expect(await call(id, { ...ofWorker, SECRETS_KEY: OTHER_KEY })).toContain("was encrypted with another SECRETS_KEY");
    expect(await call(id, { ...ofWorker, SECRETS_KEY: "nonsense" })).toContain("SECRETS_KEY is invalid");
  });

  it("a ring opens what its older keys sealed", async () => {
    await set(id, "TOKEN", "hush");
    expect(await call(id, { SECRETS_KEY: `${OTHER_KEY}, ${SECRETS_KEY}` })).toBe("hush");
  });

  it("a row that is copied to another tenant or name opens nowhere", async () => {
    const other = await newTenant();
    await set(id, "TOKEN", "hush");
    await set(other, "TOKEN", "own");
    const [row] = await rowsOf(tenantOf(id), "SELECT sealed FROM secrets");
    await rowsOf(tenantOf(other), `UPDATE secrets SET sealed = '${String(row?.["sealed"])}'`);
    expect(await call(other)).toContain("was encrypted with another SECRETS_KEY");
  });
});
