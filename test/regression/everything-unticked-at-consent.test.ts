// A person who unticked every tool when they let a client in still let it read all that is stored, and every prompt: the page
// had boxes for tools alone. Prompts and resources have a box of their own.

import { expect, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { startGatewayWorker } from "../support/gateway-tenant.ts";
import { LoginBrowser } from "../support/login-browser.ts";
import { authorizeUrl, beginning, redeem } from "../support/oauth-client.ts";
import { mcpClient, ERAS, type Json } from "../support/mcp-client.ts";

const origin = await startGatewayWorker({}, "login-worker");
const admin = fixtureAdmin(origin, "unticked");
const URI = "note://salaries";

/** A grant of a person who leaves the page of consent with these boxes as they are. */
async function granted(boxes: Readonly<Record<string, string | null>>) {
  const prompts = { hello: { messages: [{ role: "user", content: { type: "text", text: "Hello" } }] } };
  const id = await admin.tenant({ mode: "key+oauth", auth: { login: { via: "key" } }, prompts });
  await admin.store(id, URI, "CEO 1,000,000");
  const key = await admin.key(id);
  const url = `${origin}/mcp/${id}`;
  const login = await beginning(url);
  const browser = new LoginBrowser();
  const page = await browser.submit(await browser.go(await authorizeUrl(login)), { key: key.token });
  const answered = await browser.submit(page, { decision: "allow", ...boxes });
  const { access_token: token } = await redeem(login, answered.location ?? `no redirect: ${answered.text}`);
  const asked = await browser.submit(await browser.go(`${origin}/account/${id}`), { key: key.token });
  const account = await browser.go(new URL(asked.location ?? "", origin));
  return { id, page: page.text, account: account.text, url, token };
}

interface Seen {
  readonly tools: number;
  readonly prompts: number;
  readonly resources: number;
  readonly read: unknown;
  readonly got: unknown;
}

async function seenBy(url: string, token: string, revision: string): Promise<Seen> {
  const client = await mcpClient(revision, url, {}, bearer(token));
  const count = async (what: string) => {
    const { result } = await client.request(`${what}/list`);
    return (result[what] as Json[]).length;
  };
  const read = await client.request("resources/read", { uri: URI });
  const got = await client.request("prompts/get", { name: "hello" });
  return {
    tools: await count("tools"),
    prompts: await count("prompts"),
    resources: await count("resources"),
    read: (read.result?.["contents"] as Json[] | undefined)?.[0]?.["text"] ?? "refused",
    got: got.error === undefined ? "given" : "refused",
  };
}

const NO_TOOL = { tool: null, later: null };
const NOTHING = { tools: 0, prompts: 0, resources: 0, read: "refused", got: "refused" };
const TEXTS = { prompts: 1, resources: 1, read: "CEO 1,000,000", got: "given" };

test("with every box off a client sees nothing", async () => {
  const { url, token, page } = await granted({ ...NO_TOOL, read: null });
  expect(page).toContain("prompts and resources");
  for (const { revision } of ERAS) expect(await seenBy(url, token, revision)).toEqual(NOTHING);
});

test("with the box for prompts and resources off, tools are all that it sees", async () => {
  const { id, url, token, account } = await granted({ read: null });
  const seen = await seenBy(url, token, "2026-07-28");
  expect(seen).toEqual({ ...NOTHING, tools: seen.tools });
  expect(seen.tools).toBeGreaterThan(1);
  expect(account).toContain("no prompts or resources");
  const { items } = await admin.ask("GET", `/tenants/${id}/grants`);
  expect(items).toMatchObject([{ deny: [], allow: null, toolsOnly: true }]);
});

test("with no tool and that box on, prompts and resources are all that it sees", async () => {
  const { url, token, account } = await granted(NO_TOOL);
  expect(await seenBy(url, token, "2026-07-28")).toEqual({ tools: 0, ...TEXTS });
  expect(account).toContain("No tools; prompts and resources");
});
