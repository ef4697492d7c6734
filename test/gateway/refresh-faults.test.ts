// Every call to an object or to KV during a refresh fails once, before its effect and after it.

import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { UpstreamRefreshes } from "../../src/gateway/refresh-entrypoint.ts";
import { gatewayStore } from "../../src/gateway/gateway-store.ts";
import { decodeCatalog } from "../../src/gateway/upstream-catalog.ts";
import { configHashOf, type ResolvedHeaders } from "../../src/gateway/upstream-config.ts";
import { sectionPlace } from "../../src/deployment/leased-sections.ts";
import { createWorker, defineResource, defineTool } from "../../src/tenantry.ts";
import { storageKey } from "../../src/tenants/object/tenant-uid.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { MAX_SECTION_BYTES, sectionStore } from "../../src/tenants/object/section-store.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { DEFAULT_PLACEMENT } from "../../src/tenants/directory/placement.ts";
import { loadSection } from "../../src/tenants/cache/section-cache.ts";
import { servedTenant } from "../support/workerd/served-tenant.ts";
import { rowsOf, type FreshTenant } from "../support/workerd/tenant.ts";
import { loggedStates } from "./logged-states.ts";
import { upstreamAt, workerAt } from "../support/workerd/upstreams.ts";
import { callOn, keeperOf } from "../support/workerd/object-calls.ts";

const working = createWorker({
  tenants: { acme: { maxStalenessMs: 60_000 } },
  tools: [defineTool({ name: "add", handler: () => "added" })],
  resources: [defineResource({ uri: "x://1", name: "one", read: () => "one" })],
});

type Fault = (step: string) => "before" | "after" | undefined;

/** `steps` gets the names of all calls, in order. */
function faulty(steps: string[], fault: Fault): typeof env {
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const nth = steps.filter((one) => one.startsWith(name)).length;
    const named = `${name} ${nth}`;
    steps.push(named);
    const when = fault(named);
    if (when === "before") throw new Error("Network connection lost.");
    const value = await work();
    if (when === "after") throw new Error("Network connection lost.");
    return value;
  };
  const stubOf = (name: string) => {
    const keeper = exports.TenantObject.getByName(name);
    return keeperOf((method, args) => step(method, async () => callOn(keeper, method, ...args)));
  };
  const bodies = {
    get: async (...args: Parameters<KVNamespace["get"]>) => step("KV get", async () => env.BODIES.get(...args)),
    put: async (key: string, body: Uint8Array) => step("KV put", async () => env.BODIES.put(key, body)),
    delete: async (key: string) => step("KV delete", async () => env.BODIES.delete(key)),
  };
  const bound = { TenantObject: { getByName: stubOf } };
  return { ...env, ...bound, BODIES: bodies as never };
}

interface Scene {
  readonly tenant: FreshTenant;
  /** Rejects as the entrypoint does. */
  readonly refresh: (fault?: Fault) => Promise<readonly string[]>;
}

const NOTHING_SENT: Pick<ResolvedHeaders, "headers" | "secrets" | "grant"> = { headers: {}, secrets: [] };

async function sceneOf(url: string, trust: "auto" | "review", sent = NOTHING_SENT): Promise<Scene> {
  const upstream = { url, trust };
  const configHash = configHashOf(upstream);
  const tenant = await servedTenant({ mode: "open", upstreams: { a: upstream } });
  const created = (await createRpcClient(tenant.stub, policyStore).tenantUid(false)) ?? "";
  const order = {
    tenant: tenant.id,
    placement: DEFAULT_PLACEMENT,
    uid: created,
    id: "a",
    configHash,
    upstream,
    resolvedHeaders: { ...sent, trace: {} },
    clientInfo: { name: "test", version: "1" },
    prefixes: [],
  };
  const tables = createRpcClient(tenant.stub, gatewayStore);
  return {
    tenant,
    refresh: async (fault = () => undefined) => {
      await tables.claimDue({ revision: 1, upstreams: [{ id: "a", configHash }] });
      const steps: string[] = [];
      const refreshes = new UpstreamRefreshes(createExecutionContext() as never, faulty(steps, fault));
      await refreshes.refresh(order).catch(() => undefined);
      return steps;
    },
  };
}

async function stateOf({ tenant }: Scene) {
  const [row] = await rowsOf(tenant, "SELECT * FROM upstreams");
  const sections = await rowsOf(tenant, "SELECT name, hash FROM sections ORDER BY name");
  const created = (await createRpcClient(tenant.stub, policyStore).tenantUid(false)) ?? "";
  const place = sectionPlace(storageKey(tenant.id, created), env.BODIES, () => tenant.stub);
  const hash = sections.find(({ name }) => name === "upstream:a")?.hash;
  const section = hash === undefined ? undefined : await loadSection(place, String(hash));
  const catalog = section && decodeCatalog(section.bytes);
  if (catalog === "broken") throw new Error("what stands for the catalog is none");
  return {
    isClaimed: row?.claimed_until !== 0,
    isFailing: row?.failing_since !== null,
    hasNote: sections.some(({ name }) => name === "upstream-failing:a"),
    lists: catalog && { ...catalog.texts, waiting: catalog.waiting }.tools.length + (catalog.waiting ?? 0),
  };
}

const FRESH = { isClaimed: false, isFailing: false, hasNote: false };

describe.each(["auto", "review"] as const)("with trust %s", (trust) => {
  for (const isAway of [false, true]) {
    const what = isAway ? "an upstream that cannot be read" : "an upstream that is read";
    it(
      `${what} has its stated outcome, whichever step fails, and the next refresh clears it`,
      { timeout: 30_000 },
      async () => {
        const first = await sceneOf(isAway ? upstreamAt(away) : workerAt(working), trust);
        const steps = await first.refresh();
        expect(steps.length).toBeGreaterThan(isAway ? 3 : 4);
        expect(await stateOf(first)).toMatchObject(isAway ? { ...FRESH, isFailing: true, hasNote: true } : FRESH);
        for (const step of steps) {
          for (const when of ["before", "after"] as const) {
            let isAwayNow = isAway;
            const url = upstreamAt((request) =>
              isAwayNow ? away() : working.fetch(request, env, createExecutionContext()),
            );
            const scene = await sceneOf(url, trust);
            await scene.refresh((one) => (one === step ? when : undefined));
            const broken = await stateOf(scene);
            // A claim that stands ends by itself; without one, a note stands nowhere but where it fails.
            const isHonest = broken.isClaimed || broken.isFailing || !broken.hasNote;
            expect(isHonest, `${when} ${step}: ${JSON.stringify(broken)}`).toBe(true);
            if (step.startsWith("KV")) {
              expect(broken.isClaimed, `${when} ${step}`).toBe(false);
              expect(broken.hasNote, `${when} ${step}`).toBe(isAway);
            }
            isAwayNow = false;
            await scene.refresh();
            const mended = await stateOf(scene);
            expect(mended, `${when} ${step}`).toMatchObject(FRESH);
            expect(mended.lists, `${when} ${step}`).toBeGreaterThan(0);
          }
        }
      },
    );
  }
});

function away(): never {
  throw new TypeError("Network connection lost.");
}

it("an upstream is listed, or named as unreadable, if every write to KV fails", async () => {
  const kvIsAway: Fault = (step) => (step.startsWith("KV") ? "before" : undefined);
  const read = await sceneOf(workerAt(working), "auto");
  await read.refresh(kvIsAway);
  expect(await stateOf(read)).toEqual({ ...FRESH, lists: 1 });
  const dead = await sceneOf(upstreamAt(away), "auto");
  await dead.refresh(kvIsAway);
  expect(await stateOf(dead)).toMatchObject({ isClaimed: false, isFailing: true, hasNote: true });
});

it("an upstream that lists more than its tenant has room for is not listed, and the log says how much that is", async () => {
  const lines = loggedStates();
  const scene = await sceneOf(workerAt(working), "auto");
  const body = new ArrayBuffer(MAX_SECTION_BYTES);
  for (const name of ["b", "c", "d", "e"]) {
    const put = { name: `upstream:${name}`, hash: `hash of ${name}`, body, resendToken: null };
    expect(await createRpcClient(scene.tenant.stub, sectionStore).put(put)).toMatchObject({ state: "written" });
  }
  await scene.refresh();
  expect(await stateOf(scene)).toMatchObject({ isClaimed: false, isFailing: true });
  expect(JSON.stringify(lines)).toContain("more than 8388608 bytes together");
});

it("an upstream has one line in the log when it cannot be read, without a secret, and one when it is read again", async () => {
  const lines = loggedStates();
  let isAwayNow = true;
  const secret = "s3cret-of-acme-0001";
  const url = upstreamAt((request) =>
    isAwayNow
      ? Response.json({ said: request.headers.get("x-key") }, { status: 401 })
      : working.fetch(request, env, createExecutionContext()),
  );
  const scene = await sceneOf(url, "auto", { headers: { "x-key": secret }, secrets: [secret] });
  for (let time = 0; time < 2; time += 1) await scene.refresh();
  isAwayNow = false;
  for (let time = 0; time < 2; time += 1) await scene.refresh();
  const at = { event: "upstream.state", tenant: scene.tenant.id, upstream: "a" };
  expect(lines).toMatchObject([
    { level: "warn", ...at, state: "unread", why: "the server answered 401 (application/json)" },
    { level: "info", ...at, was: "unread", state: "fresh", why: null },
  ]);
  expect(JSON.stringify(lines)).not.toContain(secret);
});

it("an upstream whose access token is refused late takes no more time, and is not read", async () => {
  const over = new AbortController();
  const times = [over.signal];
  const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    const own = ms === 40_000 ? times.shift() : undefined;
    return own ?? new AbortController().signal;
  });
  onTestFinished(() => timeout.mockRestore());
  let requestCount = 0;
  const url = upstreamAt(() => {
    requestCount += 1;
    return new Response(null, { status: 401 });
  });
  let tokens = 0;
  const tokenUrl = upstreamAt(() => {
    tokens += 1;
    // All of the time is gone by now.
    if (tokens === 2) over.abort();
    return Response.json({ access_token: `t${tokens}`, token_type: "bearer", expires_in: 3600 });
  });
  const grant = {
    tenant: "t",
    tokenUrl,
    clientId: "c",
    clientSecret: "s3cret-of-acme",
    method: "client_secret_basic",
  } as const;
  const scene = await sceneOf(url, "auto", { ...NOTHING_SENT, grant });
  await scene.refresh();
  // The probe, and `initialize` of what may be an older server.
  expect([tokens, requestCount]).toEqual([2, 2]);
  expect(await stateOf(scene)).toMatchObject({ ...FRESH, isFailing: true, hasNote: true });
});

describe("what is written to KV", () => {
  const more = createWorker({
    tenants: { acme: { maxStalenessMs: 60_000 } },
    tools: [defineTool({ name: "more", handler: () => "more" })],
  });
  const putsOf = (steps: readonly string[]) => steps.filter((step) => step.startsWith("KV put")).length;

  it.each(["auto", "review"] as const)("is a changed catalog, under %s, and no unchanged one", async (trust) => {
    let now = working;
    const scene = await sceneOf(
      upstreamAt((request) => now.fetch(request, env, createExecutionContext())),
      trust,
    );
    const puts: number[] = [];
    for (const worker of [working, working, working, more, more]) {
      now = worker;
      puts.push(putsOf(await scene.refresh()));
    }
    // Under review the catalog changes by what waits: one definition instead of two.
    expect(puts).toEqual([1, 0, 0, 1, 0]);
  });

  it("is the reason why an upstream cannot be read, once", async () => {
    const scene = await sceneOf(upstreamAt(away), "auto");
    expect([putsOf(await scene.refresh()), putsOf(await scene.refresh())]).toEqual([1, 0]);
  });

  it("is a catalog that KV did not take the last time, though it is as it was", async () => {
    const scene = await sceneOf(workerAt(working), "auto");
    const puts = [putsOf(await scene.refresh((step) => (step.startsWith("KV put") ? "before" : undefined)))];
    for (let time = 0; time < 2; time += 1) puts.push(putsOf(await scene.refresh()));
    expect(puts).toEqual([1, 1, 0]);
  });
});
