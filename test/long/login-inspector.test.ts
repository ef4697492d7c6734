// The Inspector's command line at a tenant that has login of its own: it prints a URL for a person, waits for them, and
// then calls as who they are.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../scripts/fixture-server.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { FOREIGN, installForeign } from "../support/foreign-servers.ts";
import { byKey } from "../support/login-browser.ts";
import { startLoginWorker } from "../support/login-tenant.ts";

const INSTALLED_WITHIN_MS = 180_000;
beforeAll(() => installForeign(), INSTALLED_WITHIN_MS);

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "inspector");
const PROGRAM = join(FOREIGN, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");

test("the Inspector logs a person in and calls a tool as them", async () => {
  const id = await admin.tenant({ mode: "oauth", auth: { login: { via: "key" } } });
  const { token, id: key } = await admin.key(id);
  const home = mkdtempSync(join(tmpdir(), "tenantry-home-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`;
  const call = [`${origin}/mcp/${id}`, "--transport", "http", "--method", "tools/call", "--tool-name", "whoami"];
  const child = spawn(process.execPath, [PROGRAM, "--cli", ...call, "--callback-url", callback], {
    // Nothing is found in an empty PATH that could open a browser.
    env: { HOME: home, PATH: "", MCP_AUTO_OPEN_ENABLED: "true" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  let opened = 0;
  createInterface({ input: child.stderr }).on("line", (line) => {
    lines.push(line);
    const [found] = /https?:\/\/\S+[?&]response_type=code\S*/.exec(line) ?? [];
    if (found === undefined) return;
    opened += 1;
    void byKey(token, callback)(new URL(found)).then((to) => fetch(to));
  });
  const [answered] = await Promise.all([text(child.stdout), once(child, "exit")]);
  expect(child.exitCode, lines.join("\n")).toBe(0);
  expect(JSON.parse(answered)).toMatchObject({
    content: [{ text: expect.stringContaining(`"id":"key ${key}"`) as unknown }],
  });
  expect(opened).toBe(1);
});
