// `GET /login/TENANT/callback?key=...` signed in like the form of the page, so that a key could be in logs and histories.

import { expect, test } from "vitest";
import { beginLogin, CALLBACK } from "../support/authorized-client.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { LoginBrowser, onPage, textOf } from "../support/login-browser.ts";
import { startLoginWorker } from "../support/login-tenant.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "pasted");

test("a key in a URL signs nobody in, and the form still does", async () => {
  const id = await admin.tenant({ mode: "key+oauth", auth: { login: { via: "key" } } });
  const { token: key } = await admin.key(id);
  const issuer = `${origin}/login/${id}`;
  const browser = new LoginBrowser(CALLBACK);
  const page = onPage(await browser.open((await beginLogin({ issuer })).url));
  const state = /name="state" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
  const refused = onPage(await browser.open(`${issuer}/callback?${new URLSearchParams({ state, key })}`));
  expect([refused.status, textOf(refused.text)]).toEqual([400, expect.stringContaining("Not signed in")]);
  expect(onPage(await browser.press(page, "Sign in", { key })).text).toContain("Allow");
});
