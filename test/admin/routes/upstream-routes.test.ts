import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type {
  Explanation,
  Infer,
  UpstreamRefreshResult,
  UpstreamShape,
  UpstreamTestResult,
} from "../../../src/admin/contract.ts";
import { toBase64Url } from "../../../src/auth/seal.ts";
import { createWorker, defineTool } from "../../../src/tenantry.ts";
import {
  adminEnv,
  adminOptions,
  appOf,
  ask,
  newTenant,
  operator,
  ORIGIN,
  ROOT,
  rules,
} from "../../support/workerd/admin.ts";
import { upstreamAt, workerAt } from "../../support/workerd/upstreams.ts";
import { restoreFixtureWorker } from "../../support/workerd/fixture-registry.ts";

type Shown = Infer<typeof UpstreamShape>;
type Refreshed = Infer<typeof UpstreamRefreshResult>;
type Tested = Infer<typeof UpstreamTestResult>;
interface Message {
  readonly id: number;
  readonly method: string;
}

interface Seen {
  readonly method: string;
  readonly authorization: string | null;
}

const sums = () =>
  createWorker({
    name: "sums",
    version: "7.1",
    tenants: { acme: { maxStalenessMs: 60_000 } },
    tools: [defineTool({ name: "add", input: { type: "object" }, handler: () => "sum" })],
  });

/** A server of era 2026 that lists these tools, or answers as it is told. */
function listing(tools: () => readonly object[] | Promise<readonly object[]>, seen: Seen[] = []): string {
  return upstreamAt(async (request) => {
    const { id, method } = await request.json<Message>();
    seen.push({ method, authorization: request.headers.get("authorization") });
    const discovered = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
    const result = method === "tools/list" ? { tools: await tools() } : discovered;
    return Response.json({ jsonrpc: "2.0", id, result });
  });
}

const away = () =>
  upstreamAt(() => {
    throw new TypeError("Network connection lost.");
  });

const write = (id: string, name: string, json: object, more: object = {}) =>
  ask("PUT", `/tenants/${id}/upstreams/${name}`, { json, ...more });
const show = async (id: string, name: string) => (await ask("GET", `/tenants/${id}/upstreams/${name}`)).body as Shown;
const refresh = async (id: string, name: string) =>
  (await ask("POST", `/tenants/${id}/upstreams/${name}/refresh`)).body as Refreshed;
const test = async (id: string, name: string, more = {}) =>
  (await ask("POST", `/tenants/${id}/upstreams/${name}/test`, more)).body as Tested;
const explain = async (id: string, query: string) =>
  (await ask("GET", `/tenants/${id}/explain?${query}`)).body as Infer<typeof Explanation>;

const SOON = { maxStalenessMs: 50 };

describe("an upstream that is written", () => {
  it("is a member of the tenant's document, and deleted from there", async () => {
    const id = await newTenant(SOON);
    const url = workerAt(sums());
    const done = await write(id, "sums", { url });
    expect([done.status, done.headers.get("etag")]).toEqual([200, '"2"']);
    expect(done.body).toMatchObject({ changed: true, changes: [{ path: "upstreams", after: { sums: { url } } }] });
    expect((await ask("GET", `/tenants/${id}/document`)).body).toMatchObject({ upstreams: { sums: { url } } });
    const late = await ask("DELETE", `/tenants/${id}/upstreams/sums`, { headers: { "if-match": '"1"' } });
    expect(late.status).toBe(412);
    expect((await ask("DELETE", `/tenants/${id}/upstreams/sums?dryRun=1`)).body).toMatchObject({ dryRun: true });
    expect((await ask("DELETE", `/tenants/${id}/upstreams/sums`)).body).toMatchObject({ changed: true });
    expect((await ask("GET", `/tenants/${id}/document`)).text).toBe('{"mode":"open","maxStalenessMs":50}');
    expect((await ask("DELETE", `/tenants/${id}/upstreams/sums`)).status).toBe(404);
    const { items } = (await ask("GET", `/tenants/${id}/audit`)).body as { items: { action: string }[] };
    expect(items.map(({ action }) => action)).toEqual(["upstream.delete", "upstream.write", "create"]);
  });

  it("is refused with field and rule where the document would be", async () => {
    const id = await newTenant();
    expect(rules(await write(id, "a__b", { url: "https://mcp.example.com/mcp" }))).toEqual([
      422,
      ["upstreams.a__b", expect.stringContaining("has no __")],
    ]);
    expect(rules(await write(id, "inner", { url: "https://10.0.0.1/mcp" }))).toEqual([
      422,
      ["upstreams.inner.url", "must lead to a public host, or to a host in OUTBOUND_ALLOW"],
    ]);
    expect(rules(await write(id, "x", { url: "https://a.com", trust: 1 }))).toEqual([
      422,
      ["trust", expect.any(String)],
    ]);
  });

  it("needs a Worker that has upstreams", async () => {
    const id = await newTenant();
    const app = appOf({ ...adminOptions, features: [] });
    const headers = { authorization: `Bearer ${ROOT}` };
    const at = `${ORIGIN}/admin/v1/tenants/${id}/upstreams`;
    const response = await app.fetch(new Request(at, { headers }), adminEnv);
    expect([response.status, await response.text()]).toEqual([409, expect.stringContaining("feature gateway()")]);
  });
});

describe("a write of a tenant's administrator", () => {
  const bounds = { hosts: ["mcp.partner.com", "*.vendor.com"], most: 2 };
  const at = (host: string) => ({ url: `https://${host}/mcp` });

  it("is refused where no operator has set bounds, in the document too", async () => {
    const id = await newTenant();
    const { token } = await operator("tenant-admin", { tenants: [id] });
    const rule = expect.stringContaining("none is allowed in upstreamBounds.hosts") as string;
    expect(rules(await write(id, "a", at("mcp.partner.com"), { token }))).toEqual([403, ["upstreams.a.url", rule]]);
    const json = { mode: "open", upstreams: { a: at("mcp.partner.com") } };
    expect(rules(await ask("PUT", `/tenants/${id}/document`, { token, json }))).toEqual([
      403,
      ["upstreams.a.url", rule],
    ]);
    expect((await write(id, "a", at("mcp.partner.com"))).status).toBe(200);
  });

  it("stays within the hosts and the count that an operator allows", async () => {
    const id = await newTenant({ upstreamBounds: bounds });
    const { token } = await operator("tenant-admin", { tenants: [id] });
    const status = async (name: string, host: string) => (await write(id, name, at(host), { token })).status;
    expect(await status("a", "vendor.com")).toBe(403);
    expect(await status("a", "evilvendor.com")).toBe(403);
    expect(await status("a", "sub.mcp.partner.com")).toBe(403);
    expect(await status("a", "mcp.partner.com.evil.com")).toBe(403);
    expect(await status("a", "MCP.Partner.COM")).toBe(200);
    expect(await status("b", "eu.mcp.vendor.com")).toBe(200);
    expect(rules(await write(id, "c", at("eu.vendor.com"), { token }))).toEqual([
      403,
      ["upstreams", "must have at most 2 entries: only an operator can add more (upstreamBounds.most)"],
    ]);
    expect(rules(await write(id, "b", at("elsewhere.com"), { token }))).toEqual([
      403,
      ["upstreams.b.url", expect.stringContaining("allowed are mcp.partner.com, *.vendor.com")],
    ]);
  });

  it("has access tokens from these hosts alone", async () => {
    const id = await newTenant({ upstreamBounds: bounds });
    const { token } = await operator("tenant-admin", { tenants: [id] });
    const tokensFrom = (host: string) => ({
      ...at("mcp.partner.com"),
      auth: {
        kind: "client_credentials",
        tokenUrl: `https://${host}/token`,
        clientId: "a",
        clientSecret: "{{secret:KEY}}",
      },
    });
    const refused = [403, ["upstreams.a.auth.tokenUrl", expect.stringContaining("only an operator may")]];
    expect(rules(await write(id, "a", tokensFrom("elsewhere.com"), { token }))).toEqual(refused);
    const json = { mode: "open", upstreamBounds: bounds, upstreams: { a: tokensFrom("elsewhere.com") } };
    expect(rules(await ask("PUT", `/tenants/${id}/document`, { token, json }))).toEqual(refused);
    expect((await write(id, "a", tokensFrom("login.vendor.com"), { token })).status).toBe(200);
    expect((await write(id, "a", tokensFrom("elsewhere.com"))).status).toBe(200);
    const off = { ...tokensFrom("elsewhere.com"), enabled: false };
    expect((await write(id, "a", off, { token })).status).toBe(200);
  });

  it("may switch off or take away what an operator made, and nothing else of it", async () => {
    const id = await newTenant({ upstreamBounds: bounds, upstreams: { own: at("elsewhere.com") } });
    const { token } = await operator("tenant-admin", { tenants: [id] });
    const headers = { "X-Key": "{{secret:KEY}}" };
    expect((await write(id, "own", { ...at("elsewhere.com"), headers }, { token })).status).toBe(403);
    expect((await write(id, "own", { ...at("elsewhere.com"), enabled: false }, { token })).status).toBe(200);
    expect((await write(id, "own", at("elsewhere.com"), { token })).status).toBe(403);
    expect((await ask("DELETE", `/tenants/${id}/upstreams/own`, { token })).status).toBe(200);
  });

  it("is bounded by what a base says, and not by what the administrator would", async () => {
    await ask("PUT", "/bases/bounded", { json: { upstreamBounds: bounds } });
    const id = await newTenant({ extends: ["bounded"] });
    const { token } = await operator("tenant-admin", { tenants: [id] });
    expect((await write(id, "a", at("mcp.partner.com"), { token })).status).toBe(200);
    const json = { mode: "open", extends: ["bounded"], upstreamBounds: { hosts: ["evil.com"], most: 9 } };
    expect(rules(await ask("PUT", `/tenants/${id}/document`, { token, json }))).toEqual([
      403,
      ["upstreamBounds", "only an operator may change it"],
    ]);
  });

  it("is a name of a host, or the end of one, with a port or without", async () => {
    for (const host of ["https://a.com", "a.com/x", "*", "a.*.com", "A.com", "", "a.com:", "a.com:x", ":8443"]) {
      const json = { mode: "open", upstreamBounds: { hosts: [host] } };
      const refused = await ask("POST", "/tenants", { json: { id: "never", document: json } });
      expect(rules(refused), host).toEqual([422, ["upstreamBounds.hosts.0", expect.any(String)]]);
    }
  });
});

describe("roles", () => {
  it("an auditor reads, and can test, refresh or write nothing", async () => {
    const id = await newTenant();
    await write(id, "gone", { url: away() });
    const { token } = await operator("auditor");
    expect((await ask("GET", `/tenants/${id}/upstreams`, { token })).status).toBe(200);
    expect((await ask("GET", `/tenants/${id}/upstreams/gone`, { token })).status).toBe(200);
    for (const path of ["gone/test", "gone/refresh"]) {
      expect((await ask("POST", `/tenants/${id}/upstreams/${path}`, { token })).status, path).toBe(403);
    }
    expect((await write(id, "more", { url: "https://a.com" }, { token })).status).toBe(403);
    expect((await ask("DELETE", `/tenants/${id}/upstreams/gone`, { token })).status).toBe(403);
  });

  it("a tenant's administrator acts on that tenant alone", async () => {
    const [id, other] = [await newTenant(), await newTenant()];
    const { token } = await operator("tenant-admin", { tenants: [id] });
    await write(id, "gone", { url: away() });
    await write(other, "gone", { url: away() });
    const status = async (tenant: string) =>
      (await ask("POST", `/tenants/${tenant}/upstreams/gone/test`, { token })).status;
    expect([await status(id), await status(other)]).toEqual([200, 403]);
  });
});

describe("an upstream that an operator looks at", () => {
  it("is unread until it is read, then shown with all that it lists", async () => {
    const id = await newTenant(SOON);
    await write(id, "sums", { url: workerAt(sums()), headers: { "X-Team": "ours" } });
    expect(await show(id, "sums")).toMatchObject({
      id: "sums",
      enabled: true,
      setBy: "tenant",
      trust: "auto",
      era: "auto",
      headers: ["X-Team"],
      state: "unread",
      why: "the upstream has not been read yet",
      causes: [{ code: "not-read-yet" }],
      content: null,
      lastRead: null,
      reading: false,
    });
    const began = Date.now();
    const done = await refresh(id, "sums");
    expect(done).toMatchObject({ read: true, upstream: { state: "fresh", why: null, causes: [], reading: false } });
    expect(done.upstream.content).toMatchObject({
      way: "2026",
      revision: "2026-07-28",
      quarantined: [],
      unnamed: 0,
      capped: null,
      skipped: 0,
      counts: { tools: 1, prompts: 0, resources: 0, resourceTemplates: 0 },
    });
    expect(Date.parse(done.upstream.lastRead ?? "")).toBeGreaterThanOrEqual(began);
    expect(Date.parse(done.upstream.nextRead ?? "")).toBeGreaterThan(Date.now());
    const { items } = (await ask("GET", `/tenants/${id}/upstreams`)).body as { items: Shown[] };
    expect(items).toEqual(
      [
        {
          ...done.upstream,
          content: {
            ...done.upstream.content,
            quarantined: 0,
            unnamed: undefined,
            capped: undefined,
            skipped: undefined,
          },
        },
      ].map((one) => JSON.parse(JSON.stringify(one)) as unknown),
    );
    const { items: entries } = (await ask("GET", `/tenants/${id}/audit?limit=1`)).body as { items: object[] };
    expect(entries).toMatchObject([{ action: "upstream.refresh", target: "upstream sums" }]);
  });

  it("keeps what it listed last when it goes away, and says why and since when", async () => {
    const id = await newTenant(SOON);
    let isAway = false;
    const worker = sums();
    restoreFixtureWorker();
    const url = upstreamAt((request) => {
      if (isAway) throw new TypeError("Network connection lost.");
      return worker.fetch(request, env, createExecutionContext());
    });
    await write(id, "sums", { url });
    await refresh(id, "sums");
    isAway = true;
    const { read, upstream } = await refresh(id, "sums");
    expect(read).toBe(false);
    expect(upstream).toMatchObject({ state: "lastGood", content: { counts: { tools: 1 } } });
    expect(upstream.why).toMatch(/lost|reached/);
    expect(upstream.causes).toEqual([{ code: "connection-lost" }]);
    expect(Date.parse(upstream.since ?? "")).not.toBeNaN();
    isAway = false;
    expect(await refresh(id, "sums")).toMatchObject({ read: true, upstream: { state: "fresh", since: null } });
  });

  it("that is switched off says so, and is not read", async () => {
    const id = await newTenant(SOON);
    await write(id, "sums", { url: workerAt(sums()), enabled: false });
    expect(await show(id, "sums")).toMatchObject({ state: "disabled", nextRead: null });
    const refused = await ask("POST", `/tenants/${id}/upstreams/sums/refresh`);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("is switched off")]);
    expect(await test(id, "sums")).toMatchObject({ works: true });
  });

  it("of a base and one in no document have different answers", async () => {
    await ask("PUT", "/bases/shared", { json: { upstreams: { theirs: { url: away() } } } });
    const id = await newTenant({ extends: ["shared"], upstreams: { ours: { url: away() } } });
    expect((await show(id, "theirs")).setBy).toBe("base");
    expect((await show(id, "ours")).setBy).toBe("tenant");
    expect((await ask("DELETE", `/tenants/${id}/upstreams/theirs`)).status).toBe(404);
    for (const name of ["nobody", "constructor"]) {
      expect((await ask("GET", `/tenants/${id}/upstreams/${name}`)).status).toBe(404);
      expect((await ask("POST", `/tenants/${id}/upstreams/${name}/test`)).status).toBe(404);
      expect((await ask("POST", `/tenants/${id}/upstreams/${name}/refresh`)).status).toBe(404);
    }
  });
});

describe("a refresh", () => {
  it("reads with the secrets of the tenant, and says which one it lacks", async () => {
    const id = await newTenant(SOON);
    const SECRETS_KEY = toBase64Url(new Uint8Array(32).fill(1));
    const seen: Seen[] = [];
    const url = listing(() => [], seen);
    await write(id, "up", { url, headers: { Authorization: "Bearer {{secret:TOKEN}}" } });
    const more = { env: { SECRETS_KEY } };
    expect(await test(id, "up", more)).toMatchObject({ works: false, fault: "this tenant has no secret TOKEN" });
    await ask("PUT", `/tenants/${id}/secrets/TOKEN`, { json: { value: "hush" }, ...more });
    expect(await test(id, "up", more)).toMatchObject({ works: true });
    const done = await ask("POST", `/tenants/${id}/upstreams/up/refresh`, more);
    expect(done.body).toMatchObject({ read: true });
    expect(seen.map(({ authorization }) => authorization)).toEqual(seen.map(() => "Bearer hush"));
    expect(JSON.stringify([done.body, await show(id, "up")])).not.toContain("hush");
  });

  it("during another one waits for that one", async () => {
    const id = await newTenant(SOON);
    // The upstream answers in another request of the runtime, which is not woken by promises of this one.
    const gate = { isHeld: true };
    const seen: Seen[] = [];
    const url = listing(async () => {
      while (gate.isHeld) await scheduler.wait(5);
      return [{ name: "go", inputSchema: { type: "object" } }];
    }, seen);
    await write(id, "slow", { url });
    const first = refresh(id, "slow");
    await expect.poll(async () => (await show(id, "slow")).reading).toBe(true);
    const others = [refresh(id, "slow"), refresh(id, "slow")];
    // What was sent before this was answered has reached the tenant's object, too.
    for (let times = 0; times < 3; times += 1) await show(id, "slow");
    gate.isHeld = false;
    for (const { read, upstream } of await Promise.all([first, ...others])) {
      expect([read, upstream.content?.counts.tools]).toEqual([true, 1]);
    }
    expect(seen.filter(({ method }) => method === "tools/list")).toHaveLength(1);
  });
});

describe("a test of an upstream", () => {
  it("says how it speaks, what it calls itself and what it lists, and keeps nothing", async () => {
    const id = await newTenant(SOON);
    await write(id, "sums", { url: workerAt(sums()) });
    for (const [era, way] of [
      ["auto", "2026"],
      ["2025", "2025"],
      ["2026", "2026"],
    ] as const) {
      await write(id, "sums", { url: workerAt(sums()), era });
      const tested = await test(id, "sums");
      expect(tested, era).toMatchObject({
        works: true,
        fault: null,
        server: { name: "sums", version: "7.1" },
        content: { way, counts: { tools: 1, prompts: 0 } },
      });
      expect(tested.milliseconds).toBeGreaterThanOrEqual(0);
    }
    expect((await show(id, "sums")).state).toBe("unread");
  });

  it.each<[string, () => string, RegExp]>([
    ["a server that is away", away, /lost|reached/],
    ["a page", () => upstreamAt(() => new Response("<html>", { headers: { "content-type": "text/html" } })), /not MCP/],
    ["a server that wants a credential", () => upstreamAt(() => new Response(null, { status: 401 })), /answered 401/],
  ])("says of %s in words what is wrong", async (_what, url, says) => {
    const id = await newTenant(SOON);
    await write(id, "up", { url: url() });
    const { works, fault, content } = await test(id, "up");
    expect([works, fault, content]).toEqual([false, expect.stringMatching(says), null]);
  });
});

describe("why an upstream cannot be read, or not wholly, as codes", { timeout: 30_000 }, () => {
  const answering = (status: number, type = "text/plain") =>
    upstreamAt(() => new Response("<p>", { status, headers: { "content-type": type } }));
  const circle = { "tenantry/name": ["a", "b", "c", "d"] };

  it.each<[string, () => object, object]>([
    ["credential-refused", () => ({ url: answering(401) }), {}],
    ["no-endpoint", () => ({ url: answering(404) }), {}],
    ["overloaded", () => ({ url: answering(503) }), {}],
    ["server-failed", () => ({ url: answering(500) }), {}],
    ["web-page", () => ({ url: answering(200, "text/html") }), {}],
    ["connection-lost", () => ({ url: away() }), {}],
    ["secret-missing", () => ({ url: away(), headers: { "x-key": "{{secret:KEY}}" } }), { name: "KEY" }],
    ["token-missing", () => ({ url: away(), auth: grantAt(away()) }), {}],
    ["left-out", () => ({ url: listing(() => [{ name: "bad" }]) }), {}],
    ["circle", () => ({ url: listing(() => [{ name: "a", inputSchema: { type: "object" }, _meta: circle }]) }), {}],
  ])("are %s where it is shown and where it is tried", async (code, upstream, more) => {
    const id = await newTenant(SOON);
    const sealed = { env: { SECRETS_KEY: toBase64Url(new Uint8Array(32).fill(1)) } };
    await ask("PUT", `/tenants/${id}/secrets/SECRET`, { json: { value: "secret-of-the-client" }, ...sealed });
    const written = await write(id, "up", upstream());
    expect(written.status, written.text).toBe(200);
    const read = await ask("POST", `/tenants/${id}/upstreams/up/refresh`, sealed);
    const { causes, why } = (read.body as Refreshed).upstream;
    expect(causes, why ?? "").toEqual([{ code, ...more }]);
    const tried = await test(id, "up", sealed);
    expect(tried.causes, tried.fault ?? "").toEqual([{ code, ...more }]);
  });

  it("say that what it lists waits", async () => {
    const id = await newTenant(SOON);
    await write(id, "up", { url: workerAt(sums()), trust: "review" });
    expect((await refresh(id, "up")).upstream.causes).toEqual([{ code: "waiting" }]);
  });

  it("say which upstream has a URI", async () => {
    const uri = "note://both/1";
    const lists = () => {
      const text = { uri, name: "both" };
      return upstreamAt(async (request) => {
        const { id, method } = await request.json<Message>();
        const discovered = { supportedVersions: ["2026-07-28"], capabilities: { resources: {} } };
        const listed = method === "resources/templates/list" ? { resourceTemplates: [] } : { resources: [text] };
        return Response.json({ jsonrpc: "2.0", id, result: method === "server/discover" ? discovered : listed });
      });
    };
    const id = await newTenant(SOON);
    const causes = async (name: string) => (await refresh(id, name)).upstream.causes;
    for (const name of ["first", "second"]) await write(id, name, { url: lists() });
    expect([await causes("first"), await causes("second")]).toEqual([[], [{ code: "uri-listed" }]]);
    const none = () => explain(id, `kind=resources&name=${encodeURIComponent("note://none/1")}`);
    const { causes: explained, reasons } = await none();
    const reason = reasons.find((one) => one.startsWith("source second"));
    expect(explained).toEqual([{ source: "second", code: "uri-listed", reason }]);
    await write(id, "third", { url: away(), uris: ["note://both/"] });
    await expect
      .poll(async () => (await none()).causes)
      .toEqual(expect.arrayContaining([expect.objectContaining({ source: "first", code: "uri-prefix" })]));
  });
});

function grantAt(tokenUrl: string): object {
  return { kind: "client_credentials", tokenUrl, clientId: "client", clientSecret: "{{secret:SECRET}}" };
}

describe("a test of a silent server", () => {
  it("ends when a call would", async () => {
    const id = await newTenant(SOON);
    await write(id, "up", { url: upstreamAt(() => new Promise<Response>(() => {})), timeoutMs: 200 });
    expect(await test(id, "up")).toMatchObject({
      works: false,
      fault: expect.stringContaining("within 200 ms") as string,
    });
  });
});

describe("a definition that is left out", () => {
  it("is shown with its reason", async () => {
    const id = await newTenant(SOON);
    const tools = [
      { name: "good", inputSchema: { type: "object" } },
      { name: "bad", inputSchema: { type: "array" } },
    ];
    await write(id, "up", { url: listing(() => tools) });
    const why = "inputSchema must be a schema of type object";
    expect((await refresh(id, "up")).upstream).toMatchObject({
      state: "degraded",
      content: { quarantined: [{ kind: "tools", name: "bad", why }] },
    });
  });
});
