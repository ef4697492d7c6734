// Lost answers, a clock that is set back, and more rows than one query may read.

import { describe, expect, it } from "vitest";
import { issuerStore } from "../../../src/login/issuers/issuer-store.ts";
import { loginStore, type LoginMethods } from "../../../src/login/server/login-store.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import type { Store } from "../../../src/tenants/object/store.ts";
import type { TenantHost } from "../../../src/tenants/object/tenant-host.ts";
import { withStore, type OpenedStore } from "../../support/workerd/tenant.ts";

const ISSUER = "https://login.example.com";
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MANY = 10_000;

const tables: Store<LoginMethods, TenantHost> = {
  ...loginStore,
  open: (host) => {
    policyStore.open(host).methods.create({ own: {}, effective: {}, actor: { name: "ann" }, action: "create" });
    return loginStore.open(host);
  },
};

const onLogin = (work: (store: OpenedStore<LoginMethods>) => void | Promise<void>) => withStore(tables, work);

function grantOf({ clock }: OpenedStore<LoginMethods>, id = "g1", subject = "alice") {
  return {
    id,
    client: { id: "c1", name: "Client", digest: "d1" },
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
}

const codeOf = (id = "g1") => ({ hash: `code of ${id}`, redirect: "https://client.example/", challenge: "s256" });
const by = { client: "c1", digest: "d1", identityIssuer: ISSUER, resource: null, accessMs: HOUR };
const redeemAsk = (id = "g1") => ({
  ...by,
  code: `code of ${id}`,
  redirect: null,
  challenge: "s256",
  access: `access of ${id}`,
  refresh: `refresh 0 of ${id}`,
});
const refreshAsk = (at: number) => ({
  ...by,
  oldHash: `refresh ${at} of g1`,
  access: `access ${at + 1} of g1`,
  refresh: `refresh ${at + 1} of g1`,
  sealedTokens: `answer ${at + 1}`,
  maxConfirmedAgeMs: null,
});

function given(store: OpenedStore<LoginMethods>, id = "g1", subject = "alice"): void {
  expect(store.methods.addGrant(grantOf(store, id, subject), codeOf(id))).toBe("added");
  expect(store.methods.redeem(redeemAsk(id))).toMatchObject({ state: "issued" });
}

/** So many grants `h0`, `h1` and so on, ten of each person, each with its tokens, as people made them who came one by one. */
function fill({ sql, clock }: OpenedStore<LoginMethods>, many: number): void {
  const names = `WITH RECURSIVE n(at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM n WHERE at + 1 < ${many})`;
  const expires = clock.now + DAY;
  const columns = `id, client, client_name, client_digest, principal, person, tenant_issuer, resource, narrowing, created, used_at,
    confirmed_at, expires, sign_in_until`;
  sql.exec(
    `${names} INSERT INTO login_grants (${columns}) SELECT 'h' || at, 'c1', 'Client', 'd1',
       'oauth ${ISSUER} p' || (at / 10), '{}', '', '', '{}', ?1, ?1, ?1, ?2, ?2 FROM n`,
    clock.now,
    expires,
  );
  sql.exec(
    `${names} INSERT INTO login_access_tokens SELECT 'access of h' || at, 'h' || at, ?1 FROM n`,
    clock.now + HOUR,
  );
  sql.exec(
    `${names} INSERT INTO login_refresh_tokens (hash, grant_id, created) SELECT 'refresh 0 of h' || at, 'h' || at, ?1 FROM n`,
    clock.now,
  );
  sql.exec(
    `${names} INSERT INTO login_codes SELECT 'code of h' || at, 'h' || at, '', '', ?1, 1 FROM n LIMIT 1000`,
    clock.now + 10 * 60_000,
  );
}

describe("a client that asks again because the answer was lost", () => {
  it("gets the tokens of its redeemed code, and no other client does", async () => {
    await onLogin((store) => {
      const { methods } = store;
      methods.addGrant(grantOf(store), codeOf());
      const first = methods.redeem(redeemAsk());
      expect(first).toMatchObject({ state: "issued" });
      const again = methods.redeem(redeemAsk());
      expect(again).toMatchObject({ state: "issued", expiresInMs: first.state === "issued" && first.expiresInMs });
      expect(methods.refresh(refreshAsk(0))).toMatchObject({ state: "issued" });
      expect(methods.redeem({ ...redeemAsk(), access: "another's" })).toMatchObject({ error: "invalid_grant" });
      expect(methods.grants("", 10)).toEqual([]);
    });
  });

  it("has one grant", async () => {
    await onLogin((store) => {
      const { methods } = store;
      for (let at = 0; at < 2; at += 1) expect(methods.addGrant(grantOf(store), codeOf())).toBe("added");
      expect(methods.grants("", 10)).toHaveLength(1);
      expect(methods.redeem(redeemAsk())).toMatchObject({ state: "issued" });
    });
  });
});

describe("a clock that was ahead by hours and is right again", () => {
  it("does not make a refresh wait for a request to the provider that has ended", async () => {
    await onLogin((store) => {
      given(store);
      store.clock.now += 5 * HOUR;
      expect(store.methods.claimProvider("g1").state).toBe("claimed");
      store.clock.now -= 5 * HOUR;
      expect(store.methods.claimProvider("g1").state).toBe("claimed");
      expect(store.methods.claimProvider("g1").state).toBe("busy");
    });
  });

  it("says how long a token is good by the clock that ends it", async () => {
    await onLogin((store) => {
      store.methods.addGrant(grantOf(store), codeOf());
      expect(store.methods.redeem(redeemAsk())).toMatchObject({ expiresInMs: HOUR });
      store.clock.now += 60_000;
      expect(store.methods.refresh(refreshAsk(0))).toMatchObject({ expiresInMs: HOUR });
      store.clock.now += 20_000;
      expect(store.methods.refresh(refreshAsk(0))).toMatchObject({ expiresInMs: HOUR - 20_000 });
    });
  });

  it("does not repeat the answer of a refresh for hours", async () => {
    await onLogin((store) => {
      given(store);
      store.clock.now += 5 * HOUR;
      expect(store.methods.refresh(refreshAsk(0))).toMatchObject({ state: "issued" });
      store.clock.now -= 4 * HOUR;
      expect(store.methods.refresh(refreshAsk(0))).toMatchObject({ error: "invalid_grant" });
    });
  });

  it("does not keep an issuer from being read", async () => {
    await withStore(issuerStore, ({ methods, clock }) => {
      const ask = () => ({ issuer: ISSUER, section: "issuer:1", issuers: [ISSUER], since: clock.now });
      const isRead = () => methods.claim(ask()).claimed;
      clock.now += 5 * HOUR;
      expect(isRead()).toBe(true);
      clock.now -= 4 * HOUR;
      expect([isRead(), isRead()]).toEqual([true, false]);
      clock.now += HOUR;
      methods.settle(ISSUER, true);
      clock.now -= HOUR;
      expect([isRead(), isRead()]).toEqual([true, false]);
    });
  });
});

describe("where there are many rows", () => {
  it("few are read or written for one request", async () => {
    await onLogin((store) => {
      const { methods, rowsFor, writtenFor } = store;
      // The first one has them counted.
      given(store, "first", "somebody");
      fill(store, MANY);
      const once = grantOf(store, "once");
      const steps: readonly (readonly [string, () => unknown])[] = [
        ["a grant", () => methods.addGrant(grantOf(store), codeOf())],
        ["a code", () => methods.redeem(redeemAsk())],
        ["a refresh", () => methods.refresh(refreshAsk(0))],
        ["a page of grants", () => methods.grants("h1", 50)],
        ["a page of nobody's", () => methods.grants("", 50, "oauth x nobody")],
        ["a person's", () => methods.grantsOf(once.principal)],
        ["a revocation", () => methods.revoke("access 1 of g1", "c1")],
        ["a revocation of none", () => methods.revoke("no token", "c1")],
        ["a person", () => methods.endPrincipal(`oauth ${ISSUER} p7`, { name: "ann" })],
      ];
      const costs = steps.map(([what, step]) => {
        let rows = 0;
        const written = writtenFor(() => (rows = rowsFor(step)));
        return [what, rows, written] as const;
      });
      // Codes are a thousand at most, of which the oldest go: they are looked at twice.
      expect(costs.filter(([, rows, written]) => rows > 2100 || written > 100)).toEqual([]);
    });
  });

  it("a refresh writes as few after hundreds of refreshes as at first", async () => {
    await onLogin((store) => {
      const { methods, writtenFor, clock } = store;
      given(store);
      const refreshed = (at: number) => writtenFor(() => methods.refresh(refreshAsk(at)));
      refreshed(0);
      for (let at = 1; at < 150; at += 1) {
        clock.now += 5 * 60_000;
        refreshed(at);
      }
      clock.now += 5 * 60_000;
      expect(refreshed(150)).toBeLessThan(20);
    });
  });

  it("those that ended are deleted some at a time, until none is left", async () => {
    await onLogin(async (store) => {
      const { clock, open, sql } = store;
      fill(store, 950);
      clock.now += 2 * DAY;
      const left = () => sql.exec<{ count: number }>("SELECT count(*) AS count FROM login_grants").one().count;
      const after = [left()];
      let next: number | undefined = clock.now;
      for (let rings = 0; next === clock.now && rings < 100; rings += 1) {
        next = await open.alarm?.(clock.now);
        after.push(left());
      }
      for (const [at, before] of after.slice(0, -1).entries())
        expect(before - (after[at + 1] ?? 0)).toBeLessThanOrEqual(100);
      expect([next, left()]).toEqual([undefined, 0]);
      for (const table of ["login_access_tokens", "login_refresh_tokens", "login_codes"])
        expect(sql.exec(`SELECT 1 FROM ${table}`).toArray()).toEqual([]);
    });
  });
});
