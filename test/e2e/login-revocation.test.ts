// What a tenant's own authorization server gave out is gone everywhere once its end is acknowledged. Two Workers over one
// storage stand for two isolates: both hold leases and know the token, and one of them ends what it came of.

import { beforeAll, expect, test } from "vitest";
import { LoginBrowser } from "../support/login-browser.ts";
import { beginning, redeem, refresh, signIn, type LoggingIn } from "../support/oauth-client.ts";
import { sendRaw, write } from "../support/raw-http.ts";
import { sharedWorkerPair, type SharedWorkerPair } from "../support/worker-pair.ts";

const ROUNDS = 5;
/** Long enough for whoever did not wait to be seen. */
const STALENESS_MS = 1500;

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
});

interface Access {
  readonly tenant: string;
  readonly key: { readonly id: string; readonly token: string };
  readonly login: LoggingIn;
  readonly tokens: { readonly access_token: string; readonly refresh_token?: string };
  readonly code: string;
}

let made = 0;
async function newAccess(): Promise<Access> {
  const { one } = workers;
  made += 1;
  const tenant = `ended-${made}`;
  const auth = { login: { via: "key" } };
  const document = { mode: "key+oauth", auth, maxStalenessMs: STALENESS_MS };
  await one.admin("POST", "/tenants", { id: tenant, document });
  const key = (await one.admin("POST", `/tenants/${tenant}/keys`, { name: "test" })) as unknown as Access["key"];
  const login = await beginning(`${one.origin}/mcp/${tenant}`);
  const code = await signIn(login, key.token);
  return { tenant, key, login, code, tokens: await redeem(login, code) };
}

/** As the first Worker's clients write its URL, at either of them. */
async function statusAt(at: string, { tenant, tokens }: Access): Promise<number> {
  const { headers, body } = write("2026-07-28", "tools/list");
  const host = new URL(workers.one.origin).host;
  const authorization = `Bearer ${tokens.access_token}`;
  const init = { headers: { ...headers, host, authorization }, body: JSON.stringify(body) };
  return (await sendRaw(`${at}/mcp/${tenant}`, init)).status;
}

const ends: readonly (readonly [what: string, end: (access: Access) => Promise<unknown>])[] = [
  [
    "its client revoked it at the other Worker",
    ({ tenant, tokens, login }) => {
      const body = new URLSearchParams({ token: tokens.access_token, client_id: login.client.client_id });
      const { host } = new URL(workers.one.origin);
      const headers = { host, "content-type": "application/x-www-form-urlencoded" };
      return sendRaw(`${workers.two.origin}/login/${tenant}/revoke`, { headers, body: body.toString() });
    },
  ],
  [
    "its person ended it on the page of their grants",
    async ({ tenant, key }) => {
      const browser = new LoginBrowser();
      const url = `${workers.one.origin}/account/${tenant}`;
      await browser.submit(await browser.go(url), { key: key.token });
      const page = await browser.go(url);
      await browser.submit(page, { end: /name="end" value="([^"]+)"/.exec(page.text)?.[1] ?? "" });
    },
  ],
  ["its code was brought again", ({ login, code }) => redeem(login, code).catch(() => undefined)],
  [
    "an operator revoked the key that was pasted",
    ({ tenant, key }) => workers.two.admin("DELETE", `/tenants/${tenant}/keys/${key.id}`),
  ],
];

test.each(ends)("a token is refused everywhere once %s", async (_what, end) => {
  const accesses = await Promise.all(Array.from({ length: ROUNDS }, newAccess));
  await Promise.all(
    accesses.map(async (access) => {
      const both = workers.both.map(({ origin }) => origin);
      expect(await Promise.all(both.map((at) => statusAt(at, access)))).toEqual([200, 200]);
      await end(access);
      expect(await Promise.all([...both, ...both].map((at) => statusAt(at, access)))).toEqual([401, 401, 401, 401]);
      await expect(refresh(access.login, access.tokens.refresh_token)).rejects.toThrow();
    }),
  );
});
