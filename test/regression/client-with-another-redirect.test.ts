// A client that added a redirect URI to its metadata document had every refresh refused, in all tenants.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { authorizeUrl, beginning, errorOf, redeem, REDIRECT, refresh, signIn } from "../support/oauth-client.ts";
import { LoginBrowser } from "../support/login-browser.ts";
import { startLoginWorker } from "../support/login-tenant.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "redirects");
/** Nobody answers there: the copy in the tenant's document is taken. */
const CLIENT = "http://127.0.0.1:9/client.json";
const OTHER = "http://127.0.0.1:4567/other";

const documentOf = (redirects: readonly string[], name = "App") => ({
  mode: "key+oauth",
  auth: {
    login: {
      via: "key",
      pinned: { [CLIENT]: { client_id: CLIENT, client_name: name, redirect_uris: redirects } },
    },
  },
});

test("a client that adds or drops a redirect URI goes on, and under another name does not", async () => {
  const id = await admin.tenant(documentOf([REDIRECT]));
  const { token: key } = await admin.key(id);
  const login = { ...(await beginning(`${origin}/mcp/${id}`)), client: { client_id: CLIENT } };
  const first = await redeem(login, await signIn(login, key));
  await admin.apply(id, documentOf([REDIRECT, OTHER]));
  const second = await refresh(login, first.refresh_token);
  await admin.apply(id, documentOf([OTHER]));
  const third = await refresh(login, second.refresh_token);
  const page = await new LoginBrowser().go(await authorizeUrl(login));
  expect([page.status, page.text]).toEqual([
    400,
    expect.stringContaining("redirect_uri is not one that it registered"),
  ]);
  await admin.apply(id, documentOf([OTHER], "Another app"));
  expect(await errorOf(refresh(login, third.refresh_token))).toBe("invalid_grant");
});
