// The Inspector's page at a tenant that has login of its own: a person connects, signs in on our pages in the same browser,
// is led back, and calls a tool as who they are.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../scripts/fixture-server.ts";
import { startBrowser, type BrowserPage } from "../support/browser.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { FOREIGN, installForeign } from "../support/foreign-servers.ts";
import { startLoginWorker } from "../support/login-tenant.ts";

const INSTALLED_WITHIN_MS = 180_000;
const STARTED_WITHIN_MS = 30_000;
const SLOWLY = { timeout: 30_000 };
const SWITCH = '[role=switch][aria-label*="ours"]';
beforeAll(() => installForeign(), INSTALLED_WITHIN_MS);

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "inspector-page");
const open = await startBrowser();
const PROGRAM = join(FOREIGN, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");

/** The URL of its page, once it listens; its list of servers has this one alone. */
async function startInspector(url: string): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), "tenantry-home-"));
  const catalog = join(home, "servers.json");
  writeFileSync(catalog, JSON.stringify({ mcpServers: { ours: { type: "streamable-http", url } } }));
  const [page, sandbox, apps] = (await Promise.all([freePort(), freePort(), freePort()])).map(String);
  const child = spawn(process.execPath, [PROGRAM, "--web", "--catalog", catalog], {
    cwd: home,
    // Nothing is found in an empty PATH that could open a browser.
    env: {
      HOME: home,
      PATH: "",
      CLIENT_PORT: page,
      MCP_SANDBOX_PORT: sandbox,
      MCP_APP_ORIGIN_PORT: apps,
      MCP_AUTO_OPEN_ENABLED: "false",
      MCP_INSPECTOR_SECRET_STORE: "memory",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => lines.push(line));
  }
  // With the token by which its own page is let in.
  const own = () => lines.map((line) => new RegExp(String.raw`http://\S+:${page}\?\S+`).exec(line)?.[0]).find(Boolean);
  await expect.poll(own, { timeout: STARTED_WITHIN_MS }).toBeDefined();
  return own() ?? "";
}

const read = (page: BrowserPage) => page.evaluate<string>("document.body.innerText");

test("a person connects the Inspector's page, signs in, lists the tools and calls one as who they are", async () => {
  const id = await admin.tenant({ mode: "oauth", auth: { login: { via: "key" } } });
  const { token, id: key } = await admin.key(id);
  const page = await open();
  await page.goto(await startInspector(`${origin}/mcp/${id}`));
  // What is seen of the switch lies over it.
  await page.waitForSelector(SWITCH);
  await page.focus(SWITCH);
  await page.keyboard.press("Space");
  await page.waitForURL(new RegExp(`^${origin}/login/${id}/authorize`));
  expect(await read(page)).toContain("Sign in to connect MCP Inspector");
  await page.fill("#key", token);
  await page.click(".go");
  await page.click("[value=allow]");
  await expect.poll(() => read(page), SLOWLY).toContain("Authentication succeeded");
  await page.click("text=Tools");
  await expect.poll(() => read(page), SLOWLY).toContain("whoami_later");
  await page.click("text=whoami");
  await page.click("text=Execute Tool");
  await expect.poll(() => read(page), SLOWLY).toContain(`key ${key}`);
  const { items } = (await admin.ask("GET", `/tenants/${id}/grants`)) as { items: readonly unknown[] };
  expect(items).toHaveLength(1);
});
