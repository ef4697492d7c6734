import { expect, it } from "vitest";
import type { LoginClient } from "../../../src/login/server/login-records.ts";
import { loginStore, type LoginMethods } from "../../../src/login/server/login-store.ts";
import { withStore, type OpenedStore } from "../../support/workerd/tenant.ts";

const MOST = 2000;
const HOUR = 3_600_000;

const onLogin = (work: (store: OpenedStore<LoginMethods>) => void | Promise<void>) => withStore(loginStore, work);

const mcpClient = (id: string, name = "App"): LoginClient => {
  const client = { name, site: undefined, redirects: ["https://app.example/cb"], method: "none" } as const;
  return { id, kind: "registered", ...client, secretHash: null, digest: "d" };
};

function fill({ methods, clock }: OpenedStore<LoginMethods>): void {
  for (let at = 0; at < MOST; at += 1) {
    clock.now += 1;
    methods.saveClient({ client: mcpClient(`c${at}`), freshUntil: 0 });
  }
}

/** As consent gives it to a client. */
function grantTo({ sql }: OpenedStore<LoginMethods>, client: string): void {
  sql.exec(
    `INSERT INTO login_grants (id, client, client_name, client_digest, principal, person, tenant_issuer, resource, narrowing, created, used_at,
       confirmed_at, expires, sign_in_until) VALUES (?1, ?2, '', '', 'p', '{}', '', '', '{}', 0, 0, 0, 0, 0)`,
    `grant of ${client}`,
    client,
  );
}

it("a client is as it was last stored, and is not found under another id", async () => {
  await onLogin(({ methods }) => {
    expect(methods.getClient("a")).toBeNull();
    methods.saveClient({ client: mcpClient("a"), freshUntil: 5 });
    const { site: _none, ...client } = mcpClient("a", "Later");
    expect(methods.saveClient({ client: mcpClient("a", "Later"), freshUntil: 7 })).toBe(true);
    expect(methods.getClient("a")).toEqual({ client, freshUntil: 7 });
    expect([methods.getClient("A"), methods.getClient("a "), methods.getClient("%")]).toEqual([null, null, null]);
  });
});

it("a bounded number of clients is stored, and the least recently used one makes room", async () => {
  await onLogin((store) => {
    const { methods, sql, clock } = store;
    fill(store);
    clock.now += HOUR + 1;
    expect(methods.getClient("c0")).not.toBeNull();
    clock.now += 1;
    expect(methods.saveClient({ client: mcpClient("new"), freshUntil: 0 })).toBe(true);
    expect([methods.getClient("c0"), methods.getClient("new")].every(Boolean)).toBe(true);
    expect([methods.getClient("c1"), methods.getClient("c2") === null]).toEqual([null, false]);
    expect(sql.exec("SELECT count(*) AS n FROM login_clients").one()).toEqual({ n: MOST });
  });
});

it("a client that has a grant is never evicted", async () => {
  await onLogin((store) => {
    const { methods } = store;
    fill(store);
    for (let at = 0; at < MOST - 1; at += 1) grantTo(store, `c${at}`);
    expect(methods.saveClient({ client: mcpClient("new"), freshUntil: 0 })).toBe(true);
    expect([methods.getClient("c0") === null, methods.getClient(`c${MOST - 1}`)]).toEqual([false, null]);
    grantTo(store, "new");
    expect(methods.saveClient({ client: mcpClient("more"), freshUntil: 0 })).toBe(false);
    expect(methods.getClient("more")).toBeNull();
    expect(methods.saveClient({ client: mcpClient("c5", "Later"), freshUntil: 0 })).toBe(true);
    expect(methods.getClient("c5")?.client.name).toBe("Later");
  });
});

it("the use of a client is written down once an hour", async () => {
  await onLogin((store) => {
    const { methods, clock } = store;
    fill(store);
    clock.now += HOUR + 1;
    expect(store.writtenFor(() => methods.getClient("c7"))).toBeGreaterThan(0);
    expect(store.writtenFor(() => methods.getClient("c7"))).toBe(0);
  });
});
