// Forced colours (Windows high contrast) painted the words of the primary buttons, and the letter of the badge, in the colour of
// what lies behind them: "Sign in" and "Allow" were blank boxes.

import { expect, test } from "vitest";
import { beginLogin } from "../support/authorized-client.ts";
import { startBrowser, type BrowserPage } from "../support/browser.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startLoginWorker } from "../support/login-tenant.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "contrast");
const open = await startBrowser();

/** Whether the words are seen: others of the same width change the picture. */
async function isSeen(page: BrowserPage, selector: string, others: string): Promise<boolean> {
  const before = await page.screenshot({ fullPage: true });
  await page.evaluate(`document.querySelector(${JSON.stringify(selector)}).textContent = ${JSON.stringify(others)}`);
  return !Buffer.from(before).equals(await page.screenshot({ fullPage: true }));
}

test.each(["light", "dark"] as const)("buttons and badge have words in forced colours, %s", async (scheme) => {
  const id = await admin.tenant({ mode: "key+oauth", title: "6 Apples", auth: { login: { via: "key" } } });
  const { token } = await admin.key(id);
  const page = await open({ width: 390, scheme, forced: true });
  await page.goto((await beginLogin({ issuer: `${origin}/login/${id}` })).url);
  const signIn = [await isSeen(page, "b", "9"), await isSeen(page, ".go", "Sigu iu")];
  await page.fill("#key", token);
  await page.click(".go");
  await page.waitForSelector("fieldset");
  expect([...signIn, await isSeen(page, ".go", "wollA")]).toEqual([true, true, true]);
});
