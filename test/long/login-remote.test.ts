// mcp-remote, as a client that only starts programs runs it: it opens a browser at the tenant's login, keeps what it is
// given in its home, and the next start needs no person.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { FOREIGN, installForeign } from "../support/foreign-servers.ts";
import { byKey } from "../support/login-browser.ts";
import { startLoginWorker } from "../support/login-tenant.ts";

const INSTALLED_WITHIN_MS = 180_000;
beforeAll(() => installForeign(), INSTALLED_WITHIN_MS);

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "remote");

/** `signIn` is told the URL that it would have opened in a browser, where it wants one opened. */
async function startRemote(url: string, home: string, signIn: (url: URL) => Promise<void>): Promise<Client> {
  const args = [join(FOREIGN, "node_modules/mcp-remote/dist/proxy.js"), url, "--allow-http"];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args,
    // Nothing is found in an empty PATH that could open a browser.
    env: { HOME: home, PATH: "" },
    stderr: "pipe",
  });
  createInterface({ input: transport.stderr as Readable }).on("line", (line) => {
    const [found] = /https?:\/\/\S+[?&]response_type=code\S*/.exec(line) ?? [];
    if (found !== undefined) void signIn(new URL(found));
  });
  const client = new Client({ name: "remote-login-test", version: "1" });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return client;
}

test("mcp-remote logs a person in once, and calls as them then and at its next start", async () => {
  const id = await admin.tenant({ mode: "oauth", auth: { login: { via: "key" } } });
  const { token, id: key } = await admin.key(id);
  const home = mkdtempSync(join(tmpdir(), "tenantry-home-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  let opened = 0;
  const signIn = async (url: URL) => {
    opened += 1;
    const back = url.searchParams.get("redirect_uri") ?? "";
    const to = await byKey(token, back)(url);
    expect((await fetch(to)).ok).toBe(true);
  };
  for (let start = 1; start <= 2; start += 1) {
    const client = await startRemote(`${origin}/mcp/${id}`, home, signIn);
    const { content } = await client.callTool({ name: "whoami", arguments: {} });
    expect(JSON.parse((content as { text: string }[])[0]?.text ?? "")).toMatchObject({ id: `key ${key}` });
    await client.close();
  }
  expect(opened).toBe(1);
});
