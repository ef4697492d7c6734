import { describe, expect, it } from "vitest";
import { loginStore, type LoginMethods } from "../../../src/login/server/login-store.ts";
import type { NewGrant } from "../../../src/login/server/login-records.ts";
import type { RedeemRequest, TokenRefreshRequest } from "../../../src/login/server/token-rows.ts";
import { createWorker } from "../../../src/tenantry.ts";
import type { PolicyMethods } from "../../../src/tenants/object/policy-rpc.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { onBench, type Bench, type BenchTables } from "../../support/workerd/tenant.ts";

type Both = LoginMethods & Omit<PolicyMethods, keyof LoginMethods>;

/** As in a tenant's object: one host for both. */
const both: BenchTables<Both> = {
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

function onLogin(work: (bench: Bench<Both>) => void | Promise<void>, document = OIDC): Promise<void> {
  return onBench(both, async (bench) => {
    bench.methods.create({ own: document, effective: document, actor: ANN, action: "create" });
    await work(bench);
  });
}

function grantOf({ clock }: Pick<Bench<Both>, "clock">, about: Partial<NewGrant> = {}): NewGrant {
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

function bearerIn({ methods }: Pick<Bench<Both>, "methods">, keyHash = "access 0") {
  const answer = methods.lease({ version: null, maxStalenessMs: 5000, inCode: false, keyHash });
  return answer.state === "granted" ? answer.key : answer.state;
}

/** Redeemed, with its first tokens. */
function given(bench: Bench<Both>, about: Partial<NewGrant> = {}): void {
  expect(bench.methods.addGrant(grantOf(bench, about), codeOf())).toBe("added");
  expect(bench.methods.redeem(redeemAsk())).toMatchObject({ state: "issued" });
}

const REFUSED = { state: "refused", error: "invalid_grant" };
const countOf = ({ sql }: Bench<Both>, table: string) =>
  sql.exec<{ count: number }>(`SELECT count(*) AS count FROM ${table}`).one().count;

describe("a code", () => {
  it("is redeemed once, and a second time ends what came of it", async () => {
    await onLogin((bench) => {
      given(bench);
      expect(bearerIn(bench)).toMatchObject({ id: "g1" });
      expect(bench.methods.redeem(redeemAsk({ access: "a", refresh: "b" }))).toMatchObject(REFUSED);
      expect([bearerIn(bench), bench.methods.grants("", 10)]).toEqual([null, []]);
      expect(bench.methods.refresh(refreshAsk(0))).toMatchObject(REFUSED);
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
    await onLogin((bench) => {
      bench.methods.addGrant(grantOf(bench), codeOf());
      expect(bench.methods.redeem(redeemAsk(about))).toMatchObject(refused);
      expect(countOf(bench, "login_access_tokens")).toBe(0);
      expect(bench.methods.redeem(redeemAsk({ redirect: null, resource: RESOURCE }))).toMatchObject({
        state: "issued",
      });
    });
  });

  it("is good for a minute, and its grant ends with it", async () => {
    await onLogin(async (bench) => {
      bench.methods.addGrant(grantOf(bench), codeOf());
      bench.clock.now += MINUTE;
      expect(bench.methods.redeem(redeemAsk())).toMatchObject(REFUSED);
      expect(bench.methods.grants("", 10)).toEqual([]);
      await bench.open.alarm?.(bench.clock.now);
      expect(countOf(bench, "login_grants")).toBe(0);
    });
  });
});

describe("an access token", () => {
  it("lets the person in with what the document shows of them, at one endpoint", async () => {
    await onLogin((bench) => {
      given(bench, { narrowing: { deny: ["drop"] } });
      const expires = bench.clock.now + HOUR;
      expect(bearerIn(bench)).toEqual({
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
      for (const hash of ["", "access", "refresh 0", "code of g1"]) expect(bearerIn(bench, hash)).toBeNull();
    });
  });

  it("is refused once no Worker has login()", async () => {
    await onLogin((bench) => {
      given(bench);
      createWorker({ tenants: {} });
      expect(bearerIn(bench)).toBeNull();
    });
  });

  it("ends by itself, at the latest when the person has to sign in again", async () => {
    await onLogin((bench) => {
      given(bench, { expires: bench.clock.now + MINUTE });
      bench.clock.now += MINUTE - 1;
      expect(bearerIn(bench)).not.toBeNull();
      bench.clock.now += 1;
      expect(bearerIn(bench)).toBeNull();
    });
  });

  const others: readonly (readonly [string, TenantDocument])[] = [
    ["takes no tokens", { ...OIDC, mode: "key" }],
    ["has no server of its own", { mode: "oauth", auth: { issuers: [{ issuer: ISSUER }] } }],
    ["has people sign in elsewhere", { ...OIDC, auth: { login: { via: "oidc", issuer: "https://other.example" } } }],
    ["has people paste keys", { ...OIDC, auth: { login: { via: "key" } } }],
  ];

  it.each(others)("is worth nothing where the tenant %s since", async (_what, document) => {
    await onLogin((bench) => {
      given(bench);
      const write = {
        own: document,
        effective: document,
        deprecatedNames: [],
        ifRevision: null,
        actor: ANN,
        action: "write",
      };
      bench.methods.write(write);
      expect(bearerIn(bench)).toBeNull();
    });
  });

  it("has the scopes that were allowed, of those that the person's claims give now", async () => {
    const scopes = { claim: "department", values: { sales: ["read", "write"] } };
    const document = { ...OIDC, auth: { login: { ...OIDC.auth?.login, via: "oidc" as const, scopes } } };
    const seen = async (consented: readonly string[] | null) => {
      let found: unknown;
      await onLogin((bench) => {
        given(bench, { scopes: consented });
        const bearer = bearerIn(bench);
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
    await onLogin((bench) => {
      const ends = { expires: bench.clock.now + MINUTE };
      bench.methods.addKey({ ...key, ...ends }, ANN);
      bench.methods.addGrant(grantOf(bench, { person, principal: "key k1", keyHash: key.hash }), codeOf());
      expect(bench.methods.redeem(redeemAsk({ identityIssuer: "key" }))).toMatchObject({ state: "issued" });
      expect(bearerIn(bench)).toMatchObject({ ...ends, person: { id: "key k1", scopes: ["read"] } });
      bench.methods.revokeKey("k1", ANN);
      expect(bearerIn(bench)).toBeNull();
      expect(bench.methods.refresh(refreshAsk(0, { identityIssuer: "key" }))).toMatchObject(REFUSED);
    }, KEYED);
  });
});

describe("a refresh token", () => {
  it("is taken by the first, and all who bring it within 30 s have the first one's answer", async () => {
    await onLogin((bench) => {
      given(bench);
      const answers = Array.from({ length: 50 }, (_none, at) => {
        const own = { sealedTokens: `answer of ${at}`, access: `access of ${at}`, refresh: `refresh of ${at}` };
        return bench.methods.refresh(refreshAsk(0, own));
      });
      expect(answers).toEqual(
        answers.map(() => expect.objectContaining({ state: "issued", sealedTokens: "answer of 0" })),
      );
      bench.clock.now += 30_000;
      expect(bench.methods.refresh(refreshAsk(0))).toMatchObject({ state: "issued", sealedTokens: "answer of 0" });
      expect([countOf(bench, "login_access_tokens"), countOf(bench, "login_refresh_tokens")]).toEqual([2, 2]);
      expect(bearerIn(bench, "access of 0")).toMatchObject({ id: "g1" });
    });
  });

  it("ends all that came of it when it is brought later", async () => {
    await onLogin((bench) => {
      given(bench);
      bench.methods.refresh(refreshAsk(0));
      bench.clock.now += 30_001;
      expect(bench.methods.refresh(refreshAsk(0))).toMatchObject(REFUSED);
      expect(bench.methods.refresh(refreshAsk(1))).toMatchObject(REFUSED);
      expect([bearerIn(bench), bearerIn(bench, "access 1")]).toEqual([null, null]);
    });
  });

  it("of another client, of changed metadata or for another endpoint is refused, and is good after that", async () => {
    await onLogin((bench) => {
      given(bench);
      expect(bench.methods.refresh(refreshAsk(0, { client: "c2" }))).toMatchObject(REFUSED);
      expect(bench.methods.refresh(refreshAsk(0, { digest: "d2" }))).toMatchObject(REFUSED);
      expect(bench.methods.refresh(refreshAsk(0, { resource: "https://x/" }))).toMatchObject({
        error: "invalid_target",
      });
      expect(bench.methods.refresh(refreshAsk(0))).toMatchObject({ state: "issued" });
    });
  });

  it("leaves the older access token until it ends, of which there are 16 at most", async () => {
    await onLogin((bench) => {
      given(bench);
      for (let at = 0; at < 15; at += 1)
        expect(bench.methods.refresh(refreshAsk(at))).toMatchObject({ state: "issued" });
      expect(bearerIn(bench)).toMatchObject({ id: "g1" });
      const until = bench.clock.now + HOUR;
      expect(bench.methods.refresh(refreshAsk(15))).toEqual({ state: "wait", until });
      bench.clock.now = until;
      expect(bench.methods.refresh(refreshAsk(15))).toMatchObject({ state: "issued" });
    });
  });

  it("keeps 200 that were used, to know theft by", async () => {
    await onLogin((bench) => {
      given(bench);
      for (let at = 0; at < 220; at += 1) {
        bench.clock.now += 5 * MINUTE;
        expect(bench.methods.refresh(refreshAsk(at))).toMatchObject({ state: "issued" });
      }
      expect([countOf(bench, "login_refresh_tokens"), countOf(bench, "login_access_tokens")]).toEqual([201, 12]);
    });
  });

  it("waits for a due revalidation at the provider, which runs once", async () => {
    await onLogin((bench) => {
      given(bench, { provider: "sealed" });
      const asking = refreshAsk(0, { maxConfirmedAgeMs: HOUR });
      bench.clock.now += HOUR + 1;
      expect(bench.methods.refresh(asking)).toEqual({ state: "confirm", grant: "g1" });
      expect(bench.methods.claimProvider("g1")).toMatchObject({ state: "claimed", provider: "sealed" });
      expect(bench.methods.claimProvider("g1")).toEqual({ state: "busy" });
      expect(bench.methods.saveProvider("g1", { provider: "newer", revalidation: true })).toBe(true);
      expect(bench.methods.refresh(asking)).toMatchObject({ state: "issued" });
      expect(bench.methods.claimProvider("g1")).toMatchObject({ state: "claimed", provider: "newer" });
      bench.clock.now += 60_000;
      expect(bench.methods.claimProvider("g1")).toMatchObject({ state: "claimed" });
      expect([bench.methods.claimProvider("g2"), bench.methods.saveProvider("g2", {})]).toEqual([
        { state: "absent" },
        false,
      ]);
    });
  });
});

describe("a grant", () => {
  it("is ended by either of its tokens, by its client alone", async () => {
    await onLogin((bench) => {
      given(bench);
      expect(bench.methods.revoke("access 0", "c2")).toMatchObject({ state: "absent" });
      bearerIn(bench);
      expect(bench.methods.revoke("refresh 0", "c1")).toMatchObject({ state: "written", leftMs: 5100 });
      expect(bearerIn(bench)).toBeNull();
      expect(bench.methods.revoke("access 0", "c1")).toMatchObject({ state: "absent", leftMs: 5100 });
    });
  });

  it("is ended by its person alone", async () => {
    await onLogin((bench) => {
      given(bench);
      expect(bench.methods.endGrant("g1", ANN, "oauth x bob")).toMatchObject({ state: "absent" });
      expect(bench.methods.grantsOf(`oauth ${ISSUER} alice`)).toMatchObject([{ id: "g1", client: { name: "Client" } }]);
      expect(bench.methods.endGrant("g1", ANN, `oauth ${ISSUER} alice`)).toMatchObject({ state: "written" });
      expect(bench.methods.grantsOf(`oauth ${ISSUER} alice`)).toEqual([]);
    });
  });

  it("ends with its client or its person, and each end stands in the audit log", async () => {
    await onLogin((bench) => {
      for (const [id, subject, client] of [
        ["g1", "alice", "c1"],
        ["g2", "bob", "c1"],
        ["g3", "bob", "c2"],
      ] as const) {
        const about = { id, principal: `oauth ${ISSUER} ${subject}`, client: { id: client, name: "", digest: "" } };
        bench.methods.addGrant(grantOf(bench, about), codeOf(id));
      }
      expect(bench.methods.endPrincipal(`oauth ${ISSUER} alice`, ANN)).toMatchObject({ state: "written" });
      expect(bench.methods.endClient("c1", ANN)).toMatchObject({ state: "written" });
      expect(bench.methods.grants("", 10).map(({ id }) => id)).toEqual(["g3"]);
      const entries = bench.methods.audit({ before: null, limit: 10 }).filter(({ action }) => action === "grant.end");
      expect(entries.map(({ target, actor }) => [target, actor])).toEqual([
        ["grant g2", "ann"],
        ["grant g1", "ann"],
      ]);
    });
  });

  it("makes the one that its person used longest ago end, beyond 50 of them", async () => {
    await onLogin((bench) => {
      for (let at = 0; at < 51; at += 1) {
        bench.clock.now += 1;
        bench.methods.addGrant(grantOf(bench, { id: `g${at}` }), codeOf(`g${at}`));
      }
      const left = bench.methods.grantsOf(`oauth ${ISSUER} alice`).map(({ id }) => id);
      expect([left.length, left.includes("g0"), left.includes("g50")]).toEqual([50, false, true]);
    });
  });

  it("leaves nothing behind once it has ended", async () => {
    await onLogin(async (bench) => {
      given(bench);
      bench.methods.refresh(refreshAsk(0));
      bench.clock.now += 7 * DAY;
      expect(await bench.open.alarm?.(bench.clock.now)).toBeUndefined();
      for (const table of ["login_grants", "login_access_tokens", "login_refresh_tokens", "login_codes"]) {
        expect([table, countOf(bench, table)]).toEqual([table, 0]);
      }
    });
  });
});
