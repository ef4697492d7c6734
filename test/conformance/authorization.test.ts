// The official suite's scenarios for authorization servers, at the server that a tenant has of its own. A person at a
// browser opens the URL that the suite prints.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { freePort } from "../../scripts/fixture-server.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { byKey } from "../support/login-browser.ts";
import { startLoginWorker } from "../support/login-tenant.ts";

const SUITE = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "suite");

/** All that the suite prints. `signIn` gets the URL that it wants opened. */
async function runSuite(args: readonly string[], signIn: (url: URL) => Promise<unknown>) {
  const child = spawn(process.execPath, [SUITE, "authorization", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  let opened: Promise<unknown> | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    const [url] = /https?:\/\/\S+[?&]response_type=code\S*/.exec(line) ?? [];
    if (url !== undefined) opened ??= signIn(new URL(url));
  }
  if (child.exitCode === null) await once(child, "exit");
  await opened;
  return { status: child.exitCode, text: lines.join("\n") };
}

test("the suite finds metadata and a code grant as it wants them, and no warning", async () => {
  const id = await admin.tenant({ mode: "oauth", auth: { login: { via: "key" } } });
  const { token } = await admin.key(id);
  const issuer = `${origin}/login/${id}`;
  const port = await freePort();
  const callback = `http://127.0.0.1:${port}/callback`;
  const registered = await fetch(`${issuer}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Suite", redirect_uris: [callback], token_endpoint_auth_method: "none" }),
  });
  const { client_id: client } = (await registered.json()) as { client_id: string };
  const requests = ["--url", issuer, "--client-id", client, "--resource", `${origin}/mcp/${id}`, "-p", String(port)];
  const { status, text } = await runSuite(requests, async (url) => fetch(await byKey(token, callback)(url)));
  const [summary = ""] = /(?<==== SUMMARY ===\n).*/s.exec(text) ?? [];
  expect(summary.trim().split("\n")).toEqual([
    "✓ authorization-server-metadata-endpoint: 2 passed, 0 failed",
    "✓ authorization-code-grant: 1 passed, 0 failed",
    "",
    "Total: 3 passed, 0 failed",
  ]);
  expect(text).not.toMatch(/FAILURE|WARNING|SKIPPED/);
  expect(status).toBe(0);
});
