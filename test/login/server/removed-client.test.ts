// Rows are deleted a few at a time, so that no lease waits for them.

import { describe, expect, it } from "vitest";
import { loginStore, type LoginMethods } from "../../../src/login/server/login-store.ts";
import type { PolicyMethods } from "../../../src/tenants/object/policy-rpc.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { withStore, type OpenedStore, type StoreTables } from "../../support/workerd/tenant.ts";

type Both = LoginMethods & Omit<PolicyMethods, keyof LoginMethods>;

const ISSUER = "https://login.example.com";
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ANN = { name: "ann" };
const OIDC: TenantDocument = { mode: "oauth", auth: { login: { via: "oidc", issuer: ISSUER } } };

const tables: StoreTables<Both> = {
  name: "login",
  migrations: loginStore.migrations,
  open: (host) => {
    const policy = policyStore.open(host).methods;
    policy.create({ own: OIDC, effective: OIDC, actor: ANN, action: "create" });
    const login = loginStore.open(host);
    return { ...login, methods: { ...policy, ...login.methods } };
  },
};

const onLogin = (work: (store: OpenedStore<Both>) => void | Promise<void>) => withStore(tables, work);

function add({ methods, clock }: OpenedStore<Both>, id: string, { client = "c1", subject = id } = {}) {
  const grant = {
    id,
    client: { id: client, name: "Client", digest: "d1" },
    principal: `oauth ${ISSUER} ${subject}`,
    person: { issuer: ISSUER, subject, claims: {} },
    resource: "https://mcp.example/mcp/acme",
    profile: null,
    scopes: null,
    narrowing: { deny: [] },
    tenantIssuer: "https://mcp.example/login/acme",
    provider: "sealed",
    keyHash: null,
    expires: clock.now + DAY,
  };
  return methods.addGrant(grant, { hash: `code of ${id}`, redirect: "https://client.example/", challenge: "s256" });
}

function redeemed({ methods }: OpenedStore<Both>, id: string, client = "c1") {
  const by = { client, digest: "d1", identityIssuer: ISSUER, resource: null, accessMs: HOUR, redirect: null };
  const tokens = { access: `access of ${id}`, refresh: `refresh of ${id}` };
  return methods.redeem({ ...by, ...tokens, code: `code of ${id}`, challenge: "s256" });
}

function refreshed({ methods }: OpenedStore<Both>, id: string) {
  const by = {
    client: "c1",
    digest: "d1",
    identityIssuer: ISSUER,
    resource: null,
    accessMs: HOUR,
    maxConfirmedAgeMs: null,
  };
  return methods.refresh({
    ...by,
    oldHash: `refresh of ${id}`,
    access: "next",
    refresh: "next",
    sealedTokens: "sealed",
  });
}

function given(store: OpenedStore<Both>, id: string, about: Parameters<typeof add>[2] = {}): void {
  expect(add(store, id, about)).toBe("added");
  expect(redeemed(store, id, about.client)).toMatchObject({ state: "issued" });
}

function bearerOf({ methods }: OpenedStore<Both>, id: string) {
  const lease = methods.lease({ version: null, maxStalenessMs: 5000, inCode: false, keyHash: `access of ${id}` });
  return lease.state === "granted" ? (lease.key?.id ?? null) : lease.state;
}

function countIn({ sql }: OpenedStore<Both>, table: string): number {
  return sql.exec<{ count: number }>(`SELECT count(*) AS count FROM ${table}`).one().count;
}

const idsOf = ({ methods }: OpenedStore<Both>) => methods.grants("", 1000).map(({ id }) => id);

/** Until it asks for a later time; how many grants are left after each. */
async function ring(store: OpenedStore<Both>): Promise<number[]> {
  const { clock, open } = store;
  const left: number[] = [];
  let next: number | undefined = clock.now;
  for (let rings = 0; next === clock.now && rings < 100; rings += 1) {
    next = await open.alarm?.(clock.now);
    left.push(countIn(store, "login_grants"));
  }
  return left;
}

const REFUSED = { state: "refused", error: "invalid_grant" };

describe("a client that is removed", () => {
  it("has nothing that is good for anything, before a row is deleted", async () => {
    await onLogin((store) => {
      const { methods } = store;
      given(store, "g1");
      add(store, "g2");
      expect(bearerOf(store, "g1")).toBe("g1");
      expect(methods.endClient("c1", ANN)).toMatchObject({ state: "written", leftMs: 5100 });
      expect(countIn(store, "login_grants")).toBe(2);
      expect([bearerOf(store, "g1"), idsOf(store), methods.grantsOf(`oauth ${ISSUER} g1`)]).toEqual([null, [], []]);
      expect([redeemed(store, "g2"), refreshed(store, "g1")]).toMatchObject([REFUSED, REFUSED]);
      expect([methods.getProvider("g1"), methods.claimProvider("g1")]).toEqual([null, { state: "absent" }]);
      expect(methods.saveProvider("g1", { provider: "more" })).toBe(false);
      expect(methods.revoke("access of g1", "c1")).toMatchObject({ state: "absent" });
      expect([methods.endGrant("g1", ANN), methods.endClient("c1", ANN)]).toMatchObject([
        { state: "absent" },
        { state: "absent" },
      ]);
    });
  });

  it("is acknowledged when every lease from before has ended, also those that were given while its rows are deleted", async () => {
    await onLogin(async (store) => {
      const { methods, clock } = store;
      given(store, "g1");
      bearerOf(store, "g1");
      clock.now += 3000;
      const ended = methods.endClient("c1", ANN);
      expect(ended).toMatchObject({ leftMs: 2100 });
      clock.now += 1000;
      expect(bearerOf(store, "g1")).toBeNull();
      await ring(store);
      expect(bearerOf(store, "g1")).toBeNull();
      const lease = methods.lease({ version: null, maxStalenessMs: 5000, inCode: false, keyHash: null });
      expect(lease).toMatchObject({ version: ended.state === "written" && ended.revision });
    });
  });

  it("is deleted a hundred grants at a time, and other clients keep their grants meanwhile", async () => {
    await onLogin(async (store) => {
      const { methods, clock, alarms: wakes, writtenFor } = store;
      for (let at = 0; at < 350; at += 1) given(store, `h${at}`);
      given(store, "other", { client: "c2" });
      wakes.length = 0;
      // A hundred are named in the audit log, with its indexes; the rest are not touched.
      expect(writtenFor(() => methods.endClient("c1", ANN))).toBeLessThan(450);
      expect(wakes).toContain(clock.now);
      expect([idsOf(store), bearerOf(store, "other")]).toEqual([["other"], "other"]);
      const left = [351, ...(await ring(store))];
      expect(left.at(-1)).toBe(1);
      for (const [at, before] of left.slice(0, -1).entries())
        expect(before - (left[at + 1] ?? 0)).toBeLessThanOrEqual(100);
      expect([countIn(store, "login_removed_clients"), countIn(store, "login_refresh_tokens")]).toEqual([0, 1]);
      expect([idsOf(store), bearerOf(store, "other")]).toEqual([["other"], "other"]);
      clock.now += HOUR;
      await ring(store);
      expect(countIn(store, "login_access_tokens")).toBe(0);
    });
  });

  it.each([
    ["at the same moment", 0],
    ["by a clock that was set back", -HOUR],
    ["later", 1],
  ])("can get a new grant %s, which stays until it is removed again", async (_when, passed) => {
    await onLogin(async (store) => {
      const { methods, clock } = store;
      for (let at = 0; at < 150; at += 1) given(store, `h${at}`);
      methods.endClient("c1", ANN);
      clock.now += passed;
      given(store, "anew", { subject: "h1" });
      expect([idsOf(store), bearerOf(store, "anew"), bearerOf(store, "h1")]).toEqual([["anew"], "anew", null]);
      expect((await ring(store)).at(-1)).toBe(1);
      expect([idsOf(store), bearerOf(store, "anew")]).toEqual([["anew"], "anew"]);
      given(store, "beside", { subject: "h2" });
      expect(methods.endClient("c1", ANN)).toMatchObject({ state: "written", leftMs: 5100 });
      expect([idsOf(store), bearerOf(store, "anew")]).toEqual([[], null]);
    });
  });

  it("ends by the clock that was set back what was granted after it was removed before", async () => {
    await onLogin((store) => {
      const { methods, clock } = store;
      given(store, "g1");
      methods.endClient("c1", ANN);
      given(store, "g2");
      clock.now -= HOUR;
      given(store, "g3");
      expect(methods.endClient("c1", ANN)).toMatchObject({ state: "written" });
      expect([idsOf(store), bearerOf(store, "g2"), bearerOf(store, "g3")]).toEqual([[], null, null]);
    });
  });

  it("gets no grant by a consent that is sent again", async () => {
    await onLogin((store) => {
      given(store, "g1");
      add(store, "g2");
      store.methods.endClient("c1", ANN);
      expect(add(store, "g2")).toBe("added");
      expect([redeemed(store, "g2"), idsOf(store)]).toMatchObject([REFUSED, []]);
    });
  });

  it("takes no place of what else a person allowed", async () => {
    await onLogin((store) => {
      given(store, "kept", { client: "c2", subject: "alice" });
      for (let at = 0; at < 49; at += 1) {
        store.clock.now += 1;
        given(store, `h${at}`, { subject: "alice" });
      }
      store.methods.endClient("c1", ANN);
      given(store, "next", { client: "c2", subject: "alice" });
      expect(idsOf(store)).toEqual(["kept", "next"]);
    });
  });
});
