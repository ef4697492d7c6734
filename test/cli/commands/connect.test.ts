// `tenantry connect` before servers of others: what it prints, and what it says of an endpoint that it would not help to print.
// What it says of a server of ours is in test/e2e/connect.test.ts.

import { expect, test } from "vitest";
import { RECIPES } from "../../../src/connect/recipes/recipes.ts";
import { commandLine } from "../../support/command-line.ts";
import { ScriptedServer, sessionScript } from "../../support/scripted-server.ts";

test("connect says that an endpoint lets nobody in now, and prints what it takes all the same", async () => {
  const endpoint = await ScriptedServer.start((exchange) => exchange.error(-32003, "Suspended: unpaid", 403));
  const { cli } = await commandLine();
  const { exit, stdout, stderr } = await cli.run(["connect", endpoint.url, "--client", "cursor"]);
  expect([exit, stdout.includes(endpoint.url)]).toEqual([0, true]);
  expect(stderr).toContain("refuses every caller at the moment (403): Suspended: unpaid");
});

test("connect says what a server says of an endpoint that is not there", async () => {
  const endpoint = await ScriptedServer.start((exchange) => exchange.error(-32001, "No such profile", 404));
  const { cli } = await commandLine();
  const { exit, stderr } = await cli.run(["connect", endpoint.url, "--client", "cursor"]);
  expect([exit, stderr]).toEqual([3, expect.stringContaining("No such profile (404)")]);
});

test("connect says of an endpoint with a login that one logs in, and of one that is away how to go on", async () => {
  const challenge = 'Bearer resource_metadata="http://x.example/.well-known/oauth-protected-resource/mcp/acme"';
  const endpoint = await ScriptedServer.start((exchange) => exchange.refuse(401, { "www-authenticate": challenge }));
  const { cli } = await commandLine();
  const { stdout, stderr } = await cli.run(["connect", endpoint.url, "--client", "gemini"]);
  expect(stdout).not.toContain("Authorization");
  expect(stderr).toContain("/mcp auth acme");
  await endpoint.stop();
  const away = await cli.run(["connect", endpoint.url, "--client", "gemini"]);
  expect([away.exit, away.stdout]).toEqual([6, ""]);
  expect(away.stderr).toContain("--auth prints");
  expect((await cli.run(["connect", endpoint.url, "--client", "gemini", "--auth", "open"])).exit).toBe(0);
});

test("connect prints nothing for a website, and says so", async () => {
  const endpoint = await ScriptedServer.start((exchange) => exchange.refuse(501, { "content-type": "text/html" }));
  const { cli } = await commandLine();
  const { exit, stdout, stderr } = await cli.run(["connect", endpoint.url, "--client", "curl"]);
  expect([exit, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("answered 501 (text/html), not MCP");
});

test("connect speaks of a place for the key only where there is one", async () => {
  const { cli } = await commandLine();
  for (const client of RECIPES.map((one) => one.client)) {
    const { stdout, stderr } = await cli.run(["connect", "acme", "--client", client, "--auth", "key"]);
    expect([client, stderr.includes("YOUR_KEY")]).toEqual([client, stdout.includes("YOUR_KEY")]);
    expect(stderr).toContain("tenantry key create acme --name NAME makes");
  }
});

test("connect takes an endpoint without its scheme, as --url takes a server", async () => {
  const endpoint = await ScriptedServer.start(
    sessionScript("session", (exchange) => exchange.error(-32601, "Method not found")),
  );
  const { cli } = await commandLine();
  const bare = endpoint.url.replace(/^http:\/\/[^:/]+/, "localhost");
  const { stdout } = await cli.run(["connect", bare, "--client", "curl"]);
  expect(stdout).toContain(`http://${bare}`);
  const away = await cli.run(["connect", "mcp.example.com/mcp/acme", "--client", "curl", "--auth", "open"]);
  expect(away.stdout).toContain("https://mcp.example.com/mcp/acme");
  for (const wrong of ["acme/readers/x", "acme/", "/mcp/acme", "a b"]) {
    expect((await cli.run(["connect", wrong, "--client", "curl", "--auth", "open"])).exit).toBe(2);
  }
});

test("connect refuses a client that it does not know, and a name that no client takes", async () => {
  const { cli } = await commandLine();
  const unknown = await cli.run(["connect", "acme", "--client", "emacs"]);
  expect(unknown.exit).toBe(2);
  expect(unknown.stderr).toContain("claude-code");
  const named = await cli.run(["connect", "acme", "--client", "cursor", "--auth", "open", "--name", "a b"]);
  expect([named.exit, named.stdout]).toEqual([2, ""]);
});

test("connect calls another server's endpoint by its host", async () => {
  const { cli } = await commandLine();
  const args = ["connect", "https://tools.example.com/v1", "--client", "cursor", "--auth", "open"];
  expect(JSON.parse((await cli.run(args)).stdout)).toEqual({
    mcpServers: { "tools-example-com": { url: "https://tools.example.com/v1" } },
  });
});

test("connect leaves no variable of a client's or a shell's in what it prints", async () => {
  const { cli } = await commandLine();
  const url = "https://tools.example.com/mcp/acme/${env:HOME}?to=$HOME&and=${env:HOME}#${input:x}";
  for (const client of ["cursor", "vscode", "gemini", "claude-code", "goose"]) {
    const { exit, stdout, stderr } = await cli.run(["connect", url, "--client", client, "--auth", "open"]);
    expect([exit, stdout.includes("https://tools.example.com/mcp/acme/%24"), client]).toEqual([0, true, client]);
    expect(decodeURIComponent(stderr).includes("HOME") ? "" : stdout + stderr).not.toMatch(/\$\{|\$HOME/);
  }
  for (const key of ["${env:HOME}", "tnt_$HOME", 'a"b', "a'b", "a`id`", "a;b"]) {
    const refused = await cli.run(["connect", url, "--client", "cursor", "--auth", "key", "--key", key]);
    expect([refused.exit, refused.stdout, key]).toEqual([2, "", key]);
  }
  const token = ["connect", url, "--client", "cursor", "--auth", "key", "--key", "eyJ.a-b_c~d+e/f=="];
  expect((await cli.run(token)).stdout).toContain("Bearer eyJ.a-b_c~d+e/f==");
});

test("connect prints nothing, and no key, for an endpoint that sends its clients elsewhere", async () => {
  const location = "http://localhost:9/mcp/acme";
  const endpoint = await ScriptedServer.start((exchange) => exchange.json({}, 307, { location }));
  const { cli } = await commandLine();
  const { exit, stdout, stderr } = await cli.run(["connect", endpoint.url, "--client", "cursor", "--key", "tnt_key"]);
  expect([exit, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("redirects (307)");
});
