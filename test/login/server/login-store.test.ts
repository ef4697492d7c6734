import { describe, expect, it } from "vitest";
import { loginStore, type LoginMethods } from "../../../src/login/server/login-store.ts";
import type { NewGrant } from "../../../src/login/server/login-records.ts";
import type { RedeemRequest, TokenRefreshRequest } from "../../../src/login/server/token-rows.ts";
import { createWorker } from "../../../src/tenantry.ts";
import type { PolicyMethods } from "../../../src/tenants/object/policy-rpc.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { withStore, type OpenedStore, type StoreTables } from "../../support/workerd/tenant.ts";

type Both = LoginMethods & Omit<PolicyMethods, keyof LoginMethods>;

/** As in a tenant's object: one host for both. */
const both: StoreTables<Both> = {
  name: "login",
  migrations: loginStore.migrations,
  open: (host) => {
    const login = loginStore.open(host);
    return { ...login, methods: { ...policyStore.open(host).methods, ...login.methods } };
  },
};

const ANN = { name: "ann" };
const ISSUER = "https://login.example.com";
const RESOURCE = "https://mcp.example/mcp/acme";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const OIDC: TenantDocument = {
  mode: "oauth",
  auth: { login: { via: "oidc", issuer: ISSUER, claims: ["department"] } },
  scopes: { read: { tools: ["read"] }, write: { tools: ["*"] } },
};

function onLogin(work: (store: OpenedStore<Both>) => void | Promise<void>, document = OIDC): Promise<void> {
  return withStore(both, async (store) => {
    store.methods.create({ own: document, effective: document, actor: ANN, action: "create" });
    await work(store);
  });
}

function grantOf({ clock }: Pick<OpenedStore<Both>, "clock">, about: Partial<NewGrant> = {}): NewGrant {
  const { id = "g1", principal = `oauth ${ISSUER} alice` } = about;
  const claims = { department: "sales", salary: 1 };
  return {
    client: { id: "c1", name: "Client", digest: "d1" },
    person: { issuer: ISSUER, subject: "alice", email: "alice@example.com", claims },
    resource: RESOURCE,
    profile: null,
    scopes: null,
    narrowing: { deny: [] },
    tenantIssuer: "https://mcp.example/login/acme",
    provider: null,
    keyHash: null,
    expires: clock.now + 7 * DAY,
    ...about,
    id,
    principal,
  };
}

const codeOf = (id = "g1") => ({ hash: `code of ${id}`, redirect: "https://client.example/", challenge: "s256" });

function redeemAsk(about: Partial<RedeemRequest> = {}): RedeemRequest {
  const by = { client: "c1", digest: "d1", identityIssuer: ISSUER, resource: null, accessMs: HOUR };
  const { challenge, redirect, hash: code } = codeOf();
  return { ...by, code, challenge, redirect, access: "access 0", refresh: "refresh 0", ...about };
}

/** The refresh token of this number for the one after it. */
function refreshAsk(number: number, about: Partial<TokenRefreshRequest> = {}): TokenRefreshRequest {
  const next = {
    access: `access ${number + 1}`,
    refresh: `refresh ${number + 1}`,
    sealedTokens: `answer ${number + 1}`,
  };
  const by = {
    client: "c1",
    digest: "d1",
    identityIssuer: ISSUER,
    resource: null,
    accessMs: HOUR,
    maxConfirmedAgeMs: null,
  };
  return { ...by, oldHash: `refresh ${number}`, ...next, ...about };
}

function bearerIn({ methods }: Pick<OpenedStore<Both>, "methods">, keyHash = "access 0") {
  const answer = methods.lease({ version: null, maxStalenessMs: 5000, inCode: false, keyHash });
  return answer.state === "granted" ? answer.key : answer.state;
}

/** Redeemed, with its first tokens. */
function given(store: OpenedStore<Both>, about: Partial<NewGrant> = {}): void {
  expect(store.methods.addGrant(grantOf(store, about), codeOf())).toBe("added");
  expect(store.methods.redeem(redeemAsk())).toMatchObject({ state: "issued" });
}

const REFUSED = { state: "refused", error: "invalid_grant" };
const countOf = ({ sql }: OpenedStore<Both>, table: string) =>
  sql.exec<{ count: number }>(`SELECT count(*) AS count FROM ${table}`).one().count;

describe("a code", () => {
  it("is redeemed once, and a second time ends what came of it", async () => {
    await onLogin((store) => {
      given(store);
      expect(bearerIn(store)).toMatchObject({ id: "g1" });
      expect(store.methods.redeem(redeemAsk({ access: "a", refresh: "b" }))).toMatchObject(REFUSED);
      expect([bearerIn(store), store.methods.grants("", 10)]).toEqual([null, []]);
      expect(store.methods.refresh(refreshAsk(0))).toMatchObject(REFUSED);
    });
  });

  const wrong: readonly (readonly [string, Partial<RedeemRequest>, object])[] = [
    ["another verifier", { challenge: "other" }, REFUSED],
    ["another redirect", { redirect: "https://client.example/other" }, REFUSED],
    ["another client", { client: "c2" }, REFUSED],
    ["another resource", { resource: `${RESOURCE}/small` }, { state: "refused", error: "invalid_target" }],
    ["other metadata of its client", { digest: "d2" }, REFUSED],
    ["another way to sign in", { identityIssuer: "key" }, REFUSED],
    ["another code", { code: "code of g2" }, REFUSED],
  ];

  it.each(wrong)("is not redeemed with %s, and is good after that", async (_what, about, refused) => {
    await onLogin((store) => {
      store.methods.addGrant(grantOf(store), codeOf());
      expect(store.methods.redeem(redeemAsk(about))).toMatchObject(refused);
      expect(countOf(store, "login_access_tokens")).toBe(0);
      expect(store.methods.redeem(redeemAsk({ redirect: null, resource: RESOURCE }))).toMatchObject({
        state: "issued",
      });
    });
  });

  it("is good for a minute, and its grant ends with it", async () => {
    await onLogin(async (store) => {
      store.methods.addGrant(grantOf(store), codeOf());
      store.clock.now += MINUTE;
      expect(store.methods.redeem(redeemAsk())).toMatchObject(REFUSED);
      expect(store.methods.grants("", 10)).toEqual([]);
      await store.open.alarm?.(store.clock.now);
      expect(countOf(store, "login_grants")).toBe(0);
    });
  });
});

describe("an access token", () => {
  it("lets the person in with what the document shows of them, at one endpoint", async () => {
    await onLogin((store) => {
      given(store, { narrowing: { deny: ["drop"] } });
      const expires = store.clock.now + HOUR;
      expect(bearerIn(store)).toEqual({
        id: "g1",
        name: "Client",
        scopes: null,
        profile: null,
        expires,
        person: {
          kind: "oauth",
          id: `oauth ${ISSUER} alice`,
          subject: "alice",
          email: "alice@example.com",
          claims: { department: "sales" },
          scopes: undefined,
          issuer: ISSUER,
          grant: "g1",
          tenantIssuer: "https://mcp.example/login/acme",
          resource: RESOURCE,
          narrowing: { deny: ["drop"] },
          expires,
        },
      });
      for (const hash of ["", "access", "refresh 0", "code of g1"]) expect(bearerIn(store, hash)).toBeNull();
    });
  });

  it("is refused once no Worker has login()", async () => {
    await onLogin((store) => {
      given(store);
      createWorker({ tenants: {} });
      expect(bearerIn(store)).toBeNull();
    });
  });

  it("ends by itself, at the latest when the person has to sign in again", async () => {
    await onLogin((store) => {
      given(store, { expires: store.clock.now + MINUTE });
      store.clock.now += MINUTE - 1;
      expect(bearerIn(store)).not.toBeNull();
      store.clock.now += 1;
      expect(bearerIn(store)).toBeNull();
    });
  });

  const others: readonly (readonly [string, TenantDocument])[] = [
    ["takes no tokens", { ...OIDC, mode: "key" }],
    ["has no server of its own", { mode: "oauth", auth: { issuers: [{ issuer: ISSUER }] } }],
    ["has people sign in elsewhere", { ...OIDC, auth: { login: { via: "oidc", issuer: "https://other.example" } } }],
    ["has people paste keys", { ...OIDC, auth: { login: { via: "key" } } }],
  ];

  it.each(others)("is worth nothing where the tenant %s since", async (_what, document) => {
    await onLogin((store) => {
      given(store);
      const write = {
        own: document,
        effective: document,
        deprecatedNames: [],
        ifRevision: null,
        actor: ANN,
        action: "write",
      };
      store.methods.write(write);
      expect(bearerIn(store)).toBeNull();
    });
  });

  it("has the scopes that were allowed, of those that the person's claims give now", async () => {
    const scopes = { claim: "department", values: { sales: ["read", "write"] } };
    const document = { ...OIDC, auth: { login: { ...OIDC.auth?.login, via: "oidc" as const, scopes } } };
    const seen = async (consented: readonly string[] | null) => {
      let found: unknown;
      await onLogin((store) => {
        given(store, { scopes: consented });
        const bearer = bearerIn(store);
        found = typeof bearer === "object" ? bearer?.person?.scopes : bearer;
      }, document);
      return found;
    };
    expect([await seen(null), await seen(["write", "drop"]), await seen([])]).toEqual([
      ["read", "write"],
      ["write"],
      [],
    ]);
  });
});

describe("a grant of a pasted key", () => {
  const KEYED: TenantDocument = { mode: "key+oauth", auth: { login: { via: "key" } }, scopes: OIDC.scopes ?? {} };
  const key = { id: "k1", hash: "hash of k1", name: "ci", scopes: ["read"], profile: null, expires: null };
  const person = { issuer: "key", subject: "k1", claims: {} };

  it("has the rights of the key, and ends with it", async () => {
    await onLogin((store) => {
      const ends = { expires: store.clock.now + MINUTE };
      store.methods.addKey({ ...key, ...ends }, ANN);
      store.methods.addGrant(grantOf(store, { person, principal: "key k1", keyHash: key.hash }), codeOf());
      expect(store.methods.redeem(redeemAsk({ identityIssuer: "key" }))).toMatchObject({ state: "issued" });
      expect(bearerIn(store)).toMatchObject({ ...ends, person: { id: "key k1", scopes: ["read"] } });
      store.methods.revokeKey("k1", ANN);
      expect(bearerIn(store)).toBeNull();
      expect(store.methods.refresh(refreshAsk(0, { identityIssuer: "key" }))).toMatchObject(REFUSED);
    }, KEYED);
  });
});

describe("a refresh token", () => {
  it("is taken by the first, and all who bring it within 30 s have the first one's answer", async () => {
    await onLogin((store) => {
      given(store);
      const answers = Array.from({ length: 50 }, (_none, at) => {
        const own = { sealedTokens: `answer of ${at}`, access: `access of ${at}`, refresh: `refresh of ${at}` };
        return store.methods.refresh(refreshAsk(0, own));
      });
      expect(answers).toEqual(
        answers.map(() => expect.objectContaining({ state: "issued", sealedTokens: "answer of 0" })),
      );
      store.clock.now += 30_000;
      expect(store.methods.refresh(refreshAsk(0))).toMatchObject({ state: "issued", sealedTokens: "answer of 0" });
      expect([countOf(store, "login_access_tokens"), countOf(store, "login_refresh_tokens")]).toEqual([2, 2]);
      expect(bearerIn(store, "access of 0")).toMatchObject({ id: "g1" });
    });
  });

  it("ends all that came of it when it is brought later", async () => {
    await onLogin((store) => {
      given(store);
      store.methods.refresh(refreshAsk(0));
      store.clock.now += 30_001;
      expect(store.methods.refresh(refreshAsk(0))).toMatchObject(REFUSED);
      expect(store.methods.refresh(refreshAsk(1))).toMatchObject(REFUSED);
      expect([bearerIn(store), bearerIn(store, "access 1")]).toEqual([null, null]);
    });
  });

  it("of another client, of changed metadata or for another endpoint is refused, and is good after that", async () => {
    await onLogin((store) => {
      given(store);
      expect(store.methods.refresh(refreshAsk(0, { client: "c2" }))).toMatchObject(REFUSED);
      expect(store.methods.refresh(refreshAsk(0, { digest: "d2" }))).toMatchObject(REFUSED);
      expect(store.methods.refresh(refreshAsk(0, { resource: "https://x/" }))).toMatchObject({
        error: "invalid_target",
      });
      expect(store.methods.refresh(refreshAsk(0))).toMatchObject({ state: "issued" });
    });
  });

  it("leaves the older access token until it ends, of which there are 16 at most", async () => {
    await onLogin((store) => {
      given(store);
      for (let at = 0; at < 15; at += 1)
        expect(store.methods.refresh(refreshAsk(at))).toMatchObject({ state: "issued" });
      expect(bearerIn(store)).toMatchObject({ id: "g1" });
      const until = store.clock.now + HOUR;
      expect(store.methods.refresh(refreshAsk(15))).toEqual({ state: "wait", until });
      store.clock.now = until;
      expect(store.methods.refresh(refreshAsk(15))).toMatchObject({ state: "issued" });
    });
  });

  it("keeps 200 that were used, to know theft by", async () => {
    await onLogin((store) => {
      given(store);
      for (let at = 0; at < 220; at += 1) {
        store.clock.now += 5 * MINUTE;
        expect(store.methods.refresh(refreshAsk(at))).toMatchObject({ state: "issued" });
      }
      expect([countOf(store, "login_refresh_tokens"), countOf(store, "login_access_tokens")]).toEqual([201, 12]);
    });
  });

  it("waits for a due revalidation at the provider, which runs once", async () => {
    await onLogin((store) => {
      given(store, { provider: "sealed" });
      const asking = refreshAsk(0, { maxConfirmedAgeMs: HOUR });
      store.clock.now += HOUR + 1;
      expect(store.methods.refresh(asking)).toEqual({ state: "confirm", grant: "g1" });
      expect(store.methods.claimProvider("g1")).toMatchObject({ state: "claimed", provider: "sealed" });
      expect(store.methods.claimProvider("g1")).toEqual({ state: "busy" });
      expect(store.methods.saveProvider("g1", { provider: "newer", revalidation: true })).toBe(true);
      expect(store.methods.refresh(asking)).toMatchObject({ state: "issued" });
      expect(store.methods.claimProvider("g1")).toMatchObject({ state: "claimed", provider: "newer" });
      store.clock.now += 60_000;
      expect(store.methods.claimProvider("g1")).toMatchObject({ state: "claimed" });
      expect([store.methods.claimProvider("g2"), store.methods.saveProvider("g2", {})]).toEqual([
        { state: "absent" },
        false,
      ]);
    });
  });
});

describe("a grant", () => {
  it("is ended by either of its tokens, by its client alone", async () => {
    await onLogin((store) => {
      given(store);
      expect(store.methods.revoke("access 0", "c2")).toMatchObject({ state: "absent" });
      bearerIn(store);
      expect(store.methods.revoke("refresh 0", "c1")).toMatchObject({ state: "written", leftMs: 5100 });
      expect(bearerIn(store)).toBeNull();
      expect(store.methods.revoke("access 0", "c1")).toMatchObject({ state: "absent", leftMs: 5100 });
    });
  });

  it("is ended by its person alone", async () => {
    await onLogin((store) => {
      given(store);
      expect(store.methods.endGrant("g1", ANN, "oauth x bob")).toMatchObject({ state: "absent" });
      expect(store.methods.grantsOf(`oauth ${ISSUER} alice`)).toMatchObject([{ id: "g1", client: { name: "Client" } }]);
      expect(store.methods.endGrant("g1", ANN, `oauth ${ISSUER} alice`)).toMatchObject({ state: "written" });
      expect(store.methods.grantsOf(`oauth ${ISSUER} alice`)).toEqual([]);
    });
  });

  it("ends with its client or its person, and each end stands in the audit log", async () => {
    await onLogin((store) => {
      for (const [id, subject, client] of [
        ["g1", "alice", "c1"],
        ["g2", "bob", "c1"],
        ["g3", "bob", "c2"],
      ] as const) {
        const about = { id, principal: `oauth ${ISSUER} ${subject}`, client: { id: client, name: "", digest: "" } };
        store.methods.addGrant(grantOf(store, about), codeOf(id));
      }
      expect(store.methods.endPrincipal(`oauth ${ISSUER} alice`, ANN)).toMatchObject({ state: "written" });
      expect(store.methods.endClient("c1", ANN)).toMatchObject({ state: "written" });
      expect(store.methods.grants("", 10).map(({ id }) => id)).toEqual(["g3"]);
      const entries = store.methods.audit({ before: null, limit: 10 }).filter(({ action }) => action === "grant.end");
      expect(entries.map(({ target, actor }) => [target, actor])).toEqual([
        ["grant g2", "ann"],
        ["grant g1", "ann"],
      ]);
    });
  });

  it("makes the one that its person used longest ago end, beyond 50 of them", async () => {
    await onLogin((store) => {
      for (let at = 0; at < 51; at += 1) {
        store.clock.now += 1;
        store.methods.addGrant(grantOf(store, { id: `g${at}` }), codeOf(`g${at}`));
      }
      const left = store.methods.grantsOf(`oauth ${ISSUER} alice`).map(({ id }) => id);
      expect([left.length, left.includes("g0"), left.includes("g50")]).toEqual([50, false, true]);
    });
  });

  it("leaves nothing behind once it has ended", async () => {
    await onLogin(async (store) => {
      given(store);
      store.methods.refresh(refreshAsk(0));
      store.clock.now += 7 * DAY;
      expect(await store.open.alarm?.(store.clock.now)).toBeUndefined();
      for (const table of ["login_grants", "login_access_tokens", "login_refresh_tokens", "login_codes"]) {
        expect([table, countOf(store, table)]).toEqual([table, 0]);
      }
    });
  });
});
