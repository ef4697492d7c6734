import { expect, it } from "vitest";
import type { SignInRecord } from "../../../src/login/server/login-records.ts";
import { loginStore, type LoginMethods } from "../../../src/login/server/login-store.ts";
import type { PolicyMethods } from "../../../src/tenants/object/policy-rpc.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { withStore, type OpenedStore, type StoreTables } from "../../support/workerd/tenant.ts";

type Both = LoginMethods & Omit<PolicyMethods, keyof LoginMethods>;

const tables: StoreTables<Both> = {
  name: "login",
  migrations: loginStore.migrations,
  open: (host) => {
    const policy = policyStore.open(host).methods;
    policy.create({ own: {}, effective: {}, actor: { name: "ann" }, action: "create" });
    const login = loginStore.open(host);
    return { ...login, methods: { ...policy, ...login.methods } };
  },
};

const onLogin = (work: (store: OpenedStore<Both>) => void | Promise<void>) => withStore(tables, work);
const DAY = 86_400_000;

function signedIn(principal: string): SignInRecord {
  return { principal, person: { issuer: "key", subject: "k", claims: {} }, provider: null, keyHash: null };
}

function add({ methods, clock }: OpenedStore<Both>, id: string, subject = id): "added" | "full" {
  const grant = {
    id,
    client: { id: "c1", name: "Client", digest: "d1" },
    principal: `oauth https://login.example.com ${subject}`,
    person: { issuer: "https://login.example.com", subject, claims: {} },
    resource: "https://mcp.example/mcp/acme",
    profile: null,
    scopes: null,
    narrowing: { deny: [] },
    tenantIssuer: "https://mcp.example/login/acme",
    provider: null,
    keyHash: null,
    expires: clock.now + DAY,
  };
  return methods.addGrant(grant, { hash: `code of ${id}`, redirect: "https://client.example/", challenge: "s256" });
}

it("a thousand codes are kept, and the next one takes the place of the oldest", async () => {
  await onLogin((store) => {
    for (let at = 0; at <= 1000; at += 1) {
      store.clock.now += 1;
      expect(add(store, `g${at}`)).toBe("added");
    }
    const codes = store.sql.exec<{ hash: string }>("SELECT hash FROM login_codes").toArray();
    const hashes = codes.map(({ hash }) => hash);
    expect([hashes.length, hashes.includes("code of g0"), hashes.includes("code of g1000")]).toEqual([
      1000,
      false,
      true,
    ]);
  });
});

it("a thousand people who have yet to decide are kept, and the next one takes the place of the oldest", async () => {
  await onLogin(async ({ methods, clock, sql, open }) => {
    for (let at = 0; at <= 1000; at += 1) {
      expect(methods.addSignIn(`n${at}`, signedIn(`p${at}`), clock.now + 600_000 + at)).toBe("added");
    }
    const there = (...nonces: string[]) => nonces.map((nonce) => methods.getSignIn(nonce)?.principal);
    expect(there("n0", "n1", "n1000")).toEqual([undefined, "p1", "p1000"]);
    clock.now += 600_500;
    expect(there("n500", "n501")).toEqual([undefined, "p501"]);
    await open.alarm?.(clock.now);
    expect(sql.exec("SELECT count(*) AS count FROM login_sign_ins").one()).toEqual({ count: 500 });
  });
});

it("four sign-ins of one person are kept, and the next one takes the place of their oldest", async () => {
  await onLogin(({ methods, clock }) => {
    methods.addSignIn("other", signedIn("bob"), clock.now + 1);
    for (let at = 0; at < 5; at += 1) methods.addSignIn(`n${at}`, signedIn("ann"), clock.now + 1000 + at);
    const kept = ["other", "n0", "n1", "n4"].map((nonce) => methods.getSignIn(nonce)?.principal);
    expect(kept).toEqual(["bob", undefined, "ann", "ann"]);
  });
});

it(
  "a hundred thousand grants are kept, and the next one waits until there is a place",
  { timeout: 60_000 },
  async () => {
    await onLogin((store) => {
      const { sql, clock } = store;
      const fill = `WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < 99999)
      INSERT INTO login_grants (id, client, client_name, client_digest, principal, person, tenant_issuer, resource, narrowing, created, used_at,
        confirmed_at, expires, sign_in_until) SELECT 'h' || at, 'c2', '', '', 'p' || at, '{}', '', '', '{}', 0, 0, 0, ?1, ?1 FROM n`;
      sql.exec(fill, clock.now + DAY);
      expect([add(store, "g1"), add(store, "g2")]).toEqual(["added", "full"]);
      sql.exec("DELETE FROM login_grants WHERE id = 'h1'");
      clock.now += 60_001;
      expect([add(store, "g3"), add(store, "g4")]).toEqual(["added", "full"]);
    });
  },
);

it("the audit entry of a removed client names a hundred grants, and their number", async () => {
  await onLogin((store) => {
    for (let at = 0; at < 150; at += 1) add(store, `g${at}`);
    expect(store.methods.endClient("c1", { name: "ann" })).toMatchObject({ state: "written" });
    const newest = store.methods.audit({ before: null, limit: 100 });
    const entries = [...newest, ...store.methods.audit({ before: newest.at(-1)?.sequence ?? 0, limit: 100 })];
    const ends = entries.filter(({ action }) => action === "grant.end");
    expect(ends).toHaveLength(100);
    expect(entries.find(({ action }) => action === "login-client.remove")).toMatchObject({ before: { grants: 150 } });
  });
});
