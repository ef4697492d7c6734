// The tables are real; the provider answers as the test says.

import { expect, it, onTestFinished, vi } from "vitest";
import { refreshWithRevalidation } from "../../../src/login/server/token-endpoint.ts";
import { loginStore } from "../../../src/login/server/login-store.ts";
import { sealProvider } from "../../../src/login/server/provider-seal.ts";
import type {
  Revalidation,
  ProviderTokens,
  IdentityProviderClient,
} from "../../../src/login/sign-in/identity-provider-client.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { withStore, type OpenedStore, type StoreTables } from "../../support/workerd/tenant.ts";

const HOUR = 3_600_000;
const SECRETS_KEY = "A".repeat(43);
const ISSUER = "https://login.example.com";

type Methods = ReturnType<typeof loginStore.open>["methods"];
/** A tenant is there, too. */
const tables: StoreTables<Methods> = {
  ...loginStore,
  open: (host) => {
    policyStore.open(host).methods.create({ own: {}, effective: {}, actor: { name: "ann" }, action: "create" });
    return loginStore.open(host);
  },
};

type Context = Parameters<typeof refreshWithRevalidation>[0];

function contextOf({ methods }: OpenedStore<Methods>): Context {
  const call = async (method: string, args: readonly unknown[]) =>
    (methods as unknown as Record<string, (...all: readonly unknown[]) => unknown>)[method.replace("login.", "")]?.(
      ...args,
    );
  const context = {
    tenant: "acme",
    created: "2026-11-23T00:00:00.000000Z",
    env: { SECRETS_KEY },
    onError: () => {},
    stub: () => ({ call }),
  };
  return { tenantContext: context, login: { via: "oidc" }, urls: {}, waitUntil: () => {} } as unknown as Context;
}

const by = { client: "c1", digest: "d1", identityIssuer: ISSUER, resource: null, accessMs: HOUR };
const askOf = (at: number) => ({
  ...by,
  oldHash: "refresh",
  access: `access ${at}`,
  refresh: `refresh ${at}`,
  sealedTokens: `answer ${at}`,
  maxConfirmedAgeMs: HOUR,
});

/** A grant whose provider was asked last more than an hour ago. */
async function due(store: OpenedStore<Methods>): Promise<void> {
  const { methods, clock } = store;
  const grant = {
    id: "g1",
    client: { id: "c1", name: "Client", digest: "d1" },
    principal: `oauth ${ISSUER} alice`,
    person: { issuer: ISSUER, subject: "alice", claims: {} },
    resource: "https://mcp.example/mcp/acme",
    profile: null,
    scopes: null,
    narrowing: { deny: [] },
    tenantIssuer: "https://mcp.example/login/acme",
    provider: await sealProvider(contextOf(store).tenantContext, "g1", { access: "theirs", refresh: "first" }),
    keyHash: null,
    expires: clock.now + 24 * HOUR,
  };
  methods.addGrant(grant, { hash: "code", redirect: "https://client.example/", challenge: "s256" });
  const redeemed = { ...by, code: "code", redirect: null, challenge: "s256", access: "access", refresh: "refresh" };
  expect(methods.redeem(redeemed)).toMatchObject({ state: "issued" });
  clock.now += HOUR + 1;
}

function saying(...said: readonly Revalidation[]) {
  let at = 0;
  const confirm = vi.fn(async (_visit: unknown, _provider: ProviderTokens) => {
    await scheduler.wait(50);
    return said[at++] ?? { state: "ended" as const };
  });
  return { confirm, way: { revalidate: confirm } as unknown as IdentityProviderClient };
}

it("concurrent refreshes ask the provider once, and its tokens are stored", async () => {
  await withStore(tables, async (store) => {
    await due(store);
    const { confirm, way } = saying({ state: "confirmed", provider: { access: "newer", refresh: "second" } });
    const context = contextOf(store);
    const all = await Promise.all(
      Array.from({ length: 10 }, (_none, at) => refreshWithRevalidation(context, askOf(at), way)),
    );
    expect(new Set(all.map((one) => (one.state === "issued" ? one.sealedTokens : one.state))).size).toBe(1);
    expect(confirm.mock.calls.map(([, provider]) => provider.refresh)).toEqual(["first"]);
    store.clock.now += HOUR + 1;
    const next = saying({ state: "confirmed" });
    const [given] = all;
    const old = given?.state === "issued" ? given.sealedTokens.replace("answer", "refresh") : "";
    expect(await refreshWithRevalidation(context, { ...askOf(11), oldHash: old }, next.way)).toMatchObject({
      state: "issued",
    });
    expect(next.confirm.mock.calls.map(([, provider]) => provider.refresh)).toEqual(["second"]);
  });
});

it("a refresh keeps what the provider says of the person now", async () => {
  await withStore(tables, async (store) => {
    await due(store);
    const person = { issuer: ISSUER, subject: "alice", groups: ["Staff"], claims: { groups: ["Staff"] } };
    const given = await refreshWithRevalidation(contextOf(store), askOf(0), saying({ state: "confirmed", person }).way);
    expect(given).toMatchObject({ state: "issued", grant: { person } });
    expect(store.methods.grants("", 10)).toMatchObject([{ person }]);
  });
});

it("a refresh ends the grant of a person whom the provider does not let in any more", async () => {
  await withStore(tables, async (store) => {
    await due(store);
    const failed = refreshWithRevalidation(contextOf(store), askOf(0), saying({ state: "ended" }).way);
    await expect(failed).rejects.toMatchObject({ error: "invalid_grant" });
    expect(store.methods.grants("", 10)).toEqual([]);
  });
});

it("a refresh gives nothing while the provider is away, and all of it when it is back", async () => {
  await withStore(tables, async (store) => {
    await due(store);
    const { way } = saying({ state: "away" }, { state: "confirmed" });
    const failed = refreshWithRevalidation(contextOf(store), askOf(0), way);
    await expect(failed).rejects.toMatchObject({ error: "temporarily_unavailable", status: 503 });
    expect(await refreshWithRevalidation(contextOf(store), askOf(0), way)).toMatchObject({
      state: "issued",
      sealedTokens: "answer 0",
    });
  });
});

it("a refresh keeps the tokens of a provider that says nothing readable of the person", async () => {
  await withStore(tables, async (store) => {
    await due(store);
    const { confirm, way } = saying(
      { state: "away", provider: { access: "newer", refresh: "second" } },
      { state: "confirmed" },
    );
    await expect(refreshWithRevalidation(contextOf(store), askOf(0), way)).rejects.toMatchObject({ status: 503 });
    expect(await refreshWithRevalidation(contextOf(store), askOf(0), way)).toMatchObject({ state: "issued" });
    expect(confirm.mock.calls.map(([, { refresh }]) => refresh)).toEqual(["first", "second"]);
  });
});

it("a refresh keeps what the provider gave where the object is overloaded for a moment", async () => {
  await withStore(tables, async (store) => {
    await due(store);
    const context = contextOf(store);
    const stub = context.tenantContext.stub();
    let count = 0;
    const overloaded = (...called: Parameters<typeof stub.call>) =>
      called[0] === "login.saveProvider" && (count += 1) === 1
        ? Promise.reject(Object.assign(new Error("Durable Object is overloaded."), { overloaded: true }))
        : stub.call(...called);
    const busy = { ...context, tenantContext: { ...context.tenantContext, stub: () => ({ call: overloaded }) } };
    const { confirm, way } = saying({ state: "confirmed", provider: { access: "newer", refresh: "second" } });
    expect(await refreshWithRevalidation(busy, askOf(0), way)).toMatchObject({ state: "issued" });
    expect([confirm.mock.calls.length, count]).toEqual([1, 2]);
  });
});

it("an unreachable provider ends no refresh, and the next one need not wait", async () => {
  await withStore(tables, async (store) => {
    await due(store);
    const lost = {
      revalidate: () => Promise.reject(new Error("Network connection lost.")),
    } as unknown as IdentityProviderClient;
    const failed = refreshWithRevalidation(contextOf(store), askOf(0), lost);
    await expect(failed).rejects.toMatchObject({ error: "temporarily_unavailable", status: 503 });
    const { way } = saying({ state: "confirmed" });
    expect(await refreshWithRevalidation(contextOf(store), askOf(0), way)).toMatchObject({ state: "issued" });
  });
});

it("a slow provider loses no login: the client gets an error to try again, and then its tokens", async () => {
  await withStore(tables, async (store) => {
    await due(store);
    vi.useFakeTimers({ toFake: ["Date"] });
    const waiting = vi
      .spyOn(scheduler, "wait")
      .mockImplementation(async (ms) => void vi.setSystemTime(Date.now() + ms));
    onTestFinished(() => {
      waiting.mockRestore();
      vi.useRealTimers();
    });
    const slow = Promise.withResolvers<Revalidation>();
    const waited: Promise<unknown>[] = [];
    const context = { ...contextOf(store), waitUntil: (work: Promise<unknown>) => void waited.push(work) };
    const failed = refreshWithRevalidation(context, askOf(0), {
      revalidate: () => slow.promise,
    } as unknown as IdentityProviderClient);
    await expect(failed).rejects.toMatchObject({ error: "temporarily_unavailable", status: 503 });
    slow.resolve({ state: "confirmed", provider: { access: "newer", refresh: "second" } });
    await Promise.all(waited);
    const { confirm, way } = saying({ state: "ended" });
    expect(await refreshWithRevalidation(context, askOf(0), way)).toMatchObject({
      state: "issued",
      sealedTokens: "answer 0",
    });
    expect(confirm).not.toHaveBeenCalled();
  });
});

it("a refresh keeps what the provider gave where the object is moved, and the client goes away", async () => {
  await withStore(tables, async (store) => {
    await due(store);
    const context = contextOf(store);
    const stub = context.tenantContext.stub();
    let count = 0;
    const moving = async (...called: Parameters<typeof stub.call>) => {
      const given = await stub.call(...called);
      if (called[0] === "login.saveProvider" && (count += 1) === 1)
        throw new Error("Durable Object reset because its code was updated.");
      return given;
    };
    const waited: Promise<unknown>[] = [];
    const waitUntil = (work: Promise<unknown>) => void waited.push(work);
    const moved = {
      ...context,
      waitUntil,
      tenantContext: { ...context.tenantContext, stub: () => ({ call: moving }) },
    };
    const { confirm, way } = saying({ state: "confirmed", provider: { access: "newer", refresh: "second" } });
    expect(await refreshWithRevalidation(moved, askOf(0), way)).toMatchObject({ state: "issued" });
    expect([confirm.mock.calls.length, count, waited.length]).toEqual([1, 2, 1]);
  });
});
