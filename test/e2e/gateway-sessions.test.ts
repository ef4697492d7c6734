// Sessions at an upstream of era 2025, over two isolates: one for each key, whoever of them is asked; ended when nobody uses
// it, whoever has gone by then; never another key's, tenant's or incarnation's.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { bearer } from "../support/fixture-admin.ts";
import { post, type Json, type Reply } from "../support/mcp-client.ts";
import { SessionUpstream } from "./session-upstream.ts";
import { startTokenEndpoint } from "../support/token-endpoint.ts";
import { startWorkerPair, type WorkerPair, type WatchedWorker } from "../support/worker-pair.ts";

const KEYLESS = { OUTBOUND_LOCAL: "http://127.0.0.1" };
const VARS = { ...KEYLESS, SECRETS_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" };

const workers = await startWorkerPair(VARS);
afterAll(() => workers.stop());
let made = 0;

async function freshUpstream(): Promise<SessionUpstream> {
  const upstream = await new SessionUpstream().start();
  onTestFinished(() => upstream.stop());
  return upstream;
}

const documentOf = (url: string, more: Json = {}): Json => ({
  mode: "key",
  maxStalenessMs: 50,
  // The fixture Worker has tools of its own, more than a page.
  profiles: { up: { tools: { allow: ["up__*"] } } },
  upstreams: { up: { url, era: "2025", timeoutMs: 20_000, ...more } },
});

async function keyOf({ one }: WorkerPair, id: string): Promise<{ id: string; token: string }> {
  const { id: key, token } = await one.admin("POST", `/tenants/${id}/keys`, { name: "k" });
  return { id: String(key), token: String(token) };
}

/** Both isolates know what the upstream lists. */
async function tenantAt(url: string, { at = workers, id = "" } = {}): Promise<string> {
  made += 1;
  const name = id || `sessions-${made}`;
  await at.one.admin("POST", "/tenants", { id: name, document: documentOf(url) });
  await listed(at, name, (await keyOf(at, name)).token);
  return name;
}

async function listed({ both }: WorkerPair, id: string, token: string): Promise<void> {
  for (const { origin } of both) {
    const names = async () => {
      const message = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
      const { result } = await post(`${origin}/mcp/${id}/up`, message, { headers: bearer(token) });
      return (result["tools"] as Json[]).map(({ name }) => name);
    };
    await vi.waitFor(async () => expect(await names()).toContain("up__read"), { timeout: 20_000, interval: 50 });
  }
}

interface Called {
  readonly id: string;
  readonly token: string;
  readonly who?: string;
  readonly tool?: "read" | "write";
}

function call({ origin }: WatchedWorker, { id, token, who = "", tool = "read" }: Called): Promise<Reply> {
  const params = { name: `up__${tool}`, arguments: { who } };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  return post(`${origin}/mcp/${id}/up`, message, { headers: bearer(token) });
}

/** In which session it ran. */
async function sessionOf(worker: WatchedWorker, called: Called): Promise<string> {
  const { result } = await call(worker, called);
  return ((result["content"] as Json[])[0] as { text: string }).text;
}

const ask = async (worker: WatchedWorker) =>
  (await worker.calls())
    .filter((one) => one.startsWith("UpstreamObject"))
    .map((one) => one.slice("UpstreamObject ".length));

describe("two isolates", () => {
  test("use one session of a key, with requests that have ids of their own, and ask nobody for one that they know", async () => {
    const { one, two } = workers;
    const upstream = await freshUpstream();
    const id = await tenantAt(upstream.url);
    const { token } = await keyOf(workers, id);
    for (const worker of [one, two]) await worker.reset();
    const first = await sessionOf(one, { id, token });
    await expect.poll(() => ask(one)).toEqual(["claim", "store"]);
    expect(await sessionOf(two, { id, token })).toBe(first);
    expect(await ask(two)).toEqual(["claim"]);
    for (const worker of [one, two, one, two]) expect(await sessionOf(worker, { id, token })).toBe(first);
    expect([await ask(one), await ask(two)]).toEqual([["claim", "store"], ["claim"]]);
    const ids = upstream.ids.get(first) ?? [];
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
    expect(upstream.ended.get(first)).toBeUndefined();
  });

  test("begin one session between them where many calls need it at the same moment", async () => {
    const upstream = await freshUpstream();
    const id = await tenantAt(upstream.url);
    const { token } = await keyOf(workers, id);
    upstream.slowMs = 300;
    const calls = Array.from({ length: 10 }, (_, at) => sessionOf(at % 2 ? workers.one : workers.two, { id, token }));
    expect(new Set(await Promise.all(calls)).size).toBe(1);
  });

  test("never lend a session to another key or another tenant", async () => {
    const upstream = await freshUpstream();
    const ids = [await tenantAt(upstream.url), await tenantAt(upstream.url)];
    const callers = await Promise.all(
      [...ids, ...ids].map(async (id, at) => ({ id, who: `${id} ${at}`, token: (await keyOf(workers, id)).token })),
    );
    for (const worker of [...workers.both, ...workers.both]) {
      await Promise.all(callers.map((caller) => call(worker, caller)));
    }
    expect([...upstream.used.values()].map((who) => who.size)).toEqual([1, 1, 1, 1]);
  });

  test("begin anew once what the upstream has forgotten, and a late one does not take the new one away", async () => {
    const { one, two } = workers;
    const upstream = await freshUpstream();
    const id = await tenantAt(upstream.url);
    const { token } = await keyOf(workers, id);
    const old = await sessionOf(one, { id, token });
    expect(await sessionOf(two, { id, token })).toBe(old);
    upstream.forget();
    const anew = await sessionOf(one, { id, token });
    expect(anew).not.toBe(old);
    // This one hears of it only now, and is not the one that begins another.
    expect(await sessionOf(two, { id, token })).toBe(anew);
    expect(await sessionOf(one, { id, token })).toBe(anew);
    upstream.forget();
    const together = await Promise.all([one, two].map((worker) => sessionOf(worker, { id, token })));
    expect(new Set(together).size).toBe(1);
    upstream.forget();
    // A call that met it has not run: it is sent once more in a new one.
    expect((await call(two, { id, token, tool: "write" })).result).toMatchObject({
      _meta: { "tenantry/session": "new" },
    });
    expect((await call(two, { id, token, tool: "write" })).result).not.toHaveProperty("_meta");
    expect(upstream.used.size).toBe(4);
  });

  test("each have a session of their own where the object cannot be reached, and end it", async () => {
    const { one, two } = workers;
    const upstream = await freshUpstream();
    const id = await tenantAt(upstream.url);
    const { token } = await keyOf(workers, id);
    await one.cutOff("UpstreamObject");
    onTestFinished(() => one.reconnect("UpstreamObject"));
    const own = await sessionOf(one, { id, token });
    expect(await sessionOf(one, { id, token })).toBe(own);
    expect(await sessionOf(two, { id, token })).not.toBe(own);
  });
});

describe("a session that nobody uses", () => {
  test("is ended whatever has become of its key, its secret, its upstream and its tenant", async () => {
    const { one, two } = workers;
    const upstream = await freshUpstream();
    const id = await tenantAt(upstream.url);
    await one.admin("PUT", `/tenants/${id}/secrets/TOKEN?wait=1`, { value: "first-secret" });
    const headers = { "X-Token": "{{secret:TOKEN}}" };
    await one.admin("PUT", `/tenants/${id}/document?wait=1`, documentOf(upstream.url, { headers }));
    const [ann, bob] = [await keyOf(workers, id), await keyOf(workers, id)];
    await listed(workers, id, ann.token);
    const ofAnn = await sessionOf(one, { id, token: ann.token });
    const ofBob = await sessionOf(two, { id, token: bob.token });
    await one.admin("DELETE", `/tenants/${id}/keys/${ann.id}`);
    await one.admin("PUT", `/tenants/${id}/secrets/TOKEN?wait=1`, { value: "second-secret" });
    const rotated = await sessionOf(one, { id, token: bob.token });
    expect(new Set([ofAnn, ofBob, rotated]).size).toBe(3);
    await one.admin("DELETE", `/tenants/${id}`);
    expect(upstream.open).toHaveLength(3);
    await workers.idle();
    await expect.poll(() => upstream.open).toEqual([]);
    expect([ofAnn, ofBob, rotated].map((session) => upstream.ended.get(session))).toEqual([
      "first-secret",
      "first-secret",
      "second-secret",
    ]);
    // Who has the name next has none of it.
    await tenantAt(upstream.url, { id });
    const next = await sessionOf(two, { id, token: (await keyOf(workers, id)).token });
    expect([ofAnn, ofBob, rotated]).not.toContain(next);
  });

  test.each<readonly [string, (id: string, url: string) => Promise<unknown>]>([
    ["was suspended", (id) => workers.one.admin("POST", `/tenants/${id}/suspensions`, { kind: "tenant", note: "x" })],
    [
      "has the upstream no more",
      (id) => workers.one.admin("PUT", `/tenants/${id}/document?wait=1`, { mode: "key", maxStalenessMs: 50 }),
    ],
    [
      "has it elsewhere and with other headers",
      (id, url) => {
        const document = documentOf(`${url}/moved`, { headers: { "X-Other": "o" } });
        return workers.one.admin("PUT", `/tenants/${id}/document?wait=1`, document);
      },
    ],
    [
      "has it switched off",
      (id, url) => workers.one.admin("PUT", `/tenants/${id}/document?wait=1`, documentOf(url, { enabled: false })),
    ],
  ])("is ended where its tenant %s meanwhile", async (_what, change) => {
    const upstream = await freshUpstream();
    const id = await tenantAt(upstream.url);
    const session = await sessionOf(workers.two, { id, token: (await keyOf(workers, id)).token });
    await change(id, upstream.url);
    expect(upstream.open).toEqual([session]);
    await workers.idle();
    await expect.poll(() => upstream.open).toEqual([]);
  });

  test("is ended as whom it was begun where the client of the upstream has another secret since", async () => {
    const upstream = await freshUpstream();
    const tokens = await startTokenEndpoint();
    const refused = { status: 401, body: { error: "invalid_client" } };
    let valid = "first-secret";
    const { answer } = tokens;
    tokens.answer = (count) => (tokens.requests.at(-1)?.form.get("client_secret") === valid ? answer(count) : refused);
    const id = await tenantAt(upstream.url);
    await workers.one.admin("PUT", `/tenants/${id}/secrets/CLIENT?wait=1`, { value: valid });
    const method = "client_secret_post";
    const auth = {
      kind: "client_credentials",
      tokenUrl: tokens.url,
      clientId: "c",
      clientSecret: "{{secret:CLIENT}}",
      method,
    };
    await workers.one.admin("PUT", `/tenants/${id}/document?wait=1`, documentOf(upstream.url, { auth }));
    const { token } = await keyOf(workers, id);
    await listed(workers, id, token);
    const before = await sessionOf(workers.two, { id, token });
    valid = "second-secret";
    await workers.one.admin("PUT", `/tenants/${id}/secrets/CLIENT?wait=1`, { value: valid });
    const after = await sessionOf(workers.two, { id, token });
    expect(after).not.toBe(before);
    await workers.idle();
    await expect.poll(() => upstream.open).toEqual([]);
    const [ofBefore, ofAfter] = [before, after].map((one) => upstream.ended.get(one));
    expect(ofBefore).toMatch(/^Bearer token-number-/);
    expect(ofAfter).toMatch(/^Bearer token-number-/);
    expect(ofAfter).not.toBe(ofBefore);
  });

  test("is ended after its tenant was deleted where the Worker has no key of its own, too", async () => {
    const keyless = await startWorkerPair(KEYLESS);
    onTestFinished(() => keyless.stop());
    const upstream = await freshUpstream();
    const id = await tenantAt(upstream.url, { at: keyless, id: "keyless" });
    const { token } = await keyOf(keyless, id);
    const session = await sessionOf(keyless.two, { id, token });
    expect(await sessionOf(keyless.one, { id, token })).toBe(session);
    await keyless.one.admin("DELETE", `/tenants/${id}`);
    await keyless.idle();
    await expect.poll(() => upstream.open).toEqual([]);
  });

  test("is used again when every isolate has gone, and is ended when nobody comes back", async () => {
    const storage = await mkdtemp(join(tmpdir(), "tenantry-sessions-"));
    onTestFinished(() => rm(storage, { recursive: true, maxRetries: 5, retryDelay: 100 }));
    const upstream = await freshUpstream();
    const before = await startWorkerPair(VARS, storage);
    const id = await tenantAt(upstream.url, { at: before, id: "kept" });
    const { token } = await keyOf(before, id);
    const session = await sessionOf(before.two, { id, token });
    await before.crash();
    await vi.waitFor(async () => expect(await sessionOf(before.one, { id, token })).toBe(session));
    await before.stop();
    const after = await startWorkerPair(VARS, storage);
    onTestFinished(() => after.stop());
    await listed(after, id, token);
    expect(await sessionOf(after.one, { id, token })).toBe(session);
    expect(upstream.open).toEqual([session]);
    await after.idle();
    await expect.poll(() => upstream.open).toEqual([]);
  });
});
