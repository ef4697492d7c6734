// What an author shows to some callers and not to others: lists, calls, reads and completions agree for each of them, and so
// does what one isolate remembers of one for the next.

import { beforeAll, describe, expect, it } from "vitest";
import { listenTo } from "../support/listening.ts";
import { mcpClient, ERAS, type Client, type Json } from "../support/mcp-client.ts";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { sharedWorker } from "../support/start-worker.ts";

const CALLERS = ["nobody", "ann", "bob"] as const;

const worker = await sharedWorker("authored-worker", { ADMIN_TOKEN });
const keys = new Map<string, Record<string, string>>();
beforeAll(async () => {
  for (const name of ["ann", "bob"]) {
    const response = await fetch(`${worker.origin}/admin/v1/tenants/other/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ name }),
    });
    const { token, key } = (await response.json()) as { token?: string; key?: string };
    keys.set(name, { authorization: `Bearer ${token ?? key ?? ""}` });
  }
});

const SEEN: Readonly<Record<(typeof CALLERS)[number], readonly string[]>> = {
  nobody: [],
  ann: ["for_keys", "for_ann"],
  bob: ["for_keys"],
};

const putPlan = (tenant: string, plan: string) =>
  fetch(`${worker.origin}/admin/v1/tenants/${tenant}/document?wait=1`, {
    method: "PUT",
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ settings: { plan }, maxStalenessMs: 50 }),
  });

const UPDATED = "notifications/resources/updated";

describe.each(ERAS)("in era $era", ({ revision }) => {
  const at = (caller: string): Promise<Client> =>
    mcpClient(revision, `${worker.origin}/mcp/other`, {}, keys.get(caller) ?? {});
  const names = (listed: unknown, member = "name") => (listed as Json[]).map((one) => String(one[member]));

  // In turn and again: one isolate serves them all.
  it.each([...CALLERS, ...CALLERS])("%s calls the tools that are listed, and no other", async (caller) => {
    const client = await at(caller);
    const sees = SEEN[caller];
    const listed = names((await client.request("tools/list")).result["tools"]);
    expect(listed.filter((name) => name.startsWith("for_"))).toEqual(sees);
    for (const name of ["for_keys", "for_ann", "for_nobody"]) {
      const { error, result } = await client.request("tools/call", { name });
      if (sees.includes(name)) expect(result["content"]).toEqual([{ type: "text", text: name.replace("_", " ") }]);
      else expect(error?.message).toBe(`Unknown tool: ${name}`);
    }
  });

  it.each([...CALLERS, ...CALLERS])("%s sees the same prompts, resources and completions", async (caller) => {
    const client = await at(caller);
    const isKey = caller !== "nobody";
    const prompts = names((await client.request("prompts/list")).result["prompts"]);
    expect(prompts.includes("for_keys")).toBe(isKey);
    const got = await client.request("prompts/get", { name: "for_keys" });
    expect(got.error?.message).toBe(isKey ? undefined : "Unknown prompt: for_keys");
    const resources = names((await client.request("resources/list")).result["resources"], "uri");
    expect(resources.includes("seen://for/keys")).toBe(isKey);
    const templates = (await client.request("resources/templates/list")).result["resourceTemplates"];
    expect(names(templates, "uriTemplate").includes("keys://{id}")).toBe(isKey);
    for (const uri of ["seen://for/keys", "keys://one"]) {
      const { error } = await client.request("resources/read", { uri });
      expect(error?.message).toBe(isKey ? undefined : "Resource not found");
    }
    for (const ref of [
      { type: "ref/prompt", name: "for_keys" },
      { type: "ref/resource", uri: "keys://{id}" },
    ]) {
      const argument = { name: "name" in ref ? "word" : "id", value: "" };
      const { result, error } = await client.request("completion/complete", { ref, argument });
      if (isKey) expect(result["completion"]).toMatchObject({ values: ["one"] });
      else expect(error?.code).toBe(-32602);
    }
  });

  it.each(CALLERS)("%s is told of changes of what they see, and of no other", async (caller) => {
    const uris = ["seen://for/keys", "keys://one", "failing://last"];
    const headers = keys.get(caller) ?? {};
    const listening = await listenTo(revision, `${worker.origin}/mcp/other`, { uris, headers });
    await (await at(caller)).request("tools/call", { name: "tells" });
    const notifications = await listening.before("failing://last");
    await listening.events.close();
    const messages = notifications.map(({ params }) => (params as Json)["uri"]);
    expect(messages).toEqual(caller === "nobody" ? [] : ["seen://for/keys", "keys://one"]);
  });

  it("streams tell each caller what has changed of what they see, and nothing of what they do not", async () => {
    const url = `${worker.origin}/mcp/other`;
    await putPlan("other", "tin");
    const guarded = ["seen://for/keys", "keys://one"];
    const uris = [...guarded, "for://everybody"];
    for (const [caller, hears] of [
      ["nobody", []],
      ["bob", guarded],
    ] as const) {
      const headers = keys.get(caller) ?? {};
      const listening = await listenTo(revision, url, { uris, headers });
      expect((await putPlan("other", "gold")).status).toBe(200);
      const { error } = await (await at(caller)).request("tools/call", { name: "announces", arguments: { uris } });
      expect(error).toBeUndefined();
      const notifications = await listening.before("for://everybody");
      const updated = notifications
        .filter(({ method }) => method === UPDATED)
        .map(({ params }) => (params as Json)["uri"]);
      expect([caller, updated]).toEqual([caller, hears]);
      const lists = notifications.map(({ method }) => method).filter((method) => method !== UPDATED);
      expect([caller, lists]).toEqual([caller, caller === "bob" ? ["notifications/tools/list_changed"] : []]);
      await listening.events.close();
      await putPlan("other", "tin");
    }
  });

  it("a list that differs by caller may be kept by no shared cache", async () => {
    const { result } = await (await at("nobody")).request("tools/list");
    expect(result["cacheScope"] ?? "private").toBe("private");
  });

  it("a setting of the tenant shows a tool, and an operator may change it", async () => {
    for (const [tenant, sees] of [
      ["gold", true],
      ["other", false],
    ] as const) {
      const client = await mcpClient(revision, `${worker.origin}/mcp/${tenant}`);
      const listed = names((await client.request("tools/list")).result["tools"]);
      expect([tenant, listed.includes("for_gold")]).toEqual([tenant, sees]);
    }
    // Operators write over what stands in code, and it holds from then on.
    const client = await mcpClient(revision, `${worker.origin}/mcp/few`);
    for (const plan of ["gold", "tin"]) {
      expect((await putPlan("few", plan)).status).toBe(200);
      const { result, error } = await client.request("tools/call", { name: "for_gold" });
      if (plan === "gold") expect(result["content"]).toEqual([{ type: "text", text: "for gold" }]);
      else expect(error?.message).toBe("Unknown tool: for_gold");
    }
  });

  it("a predicate that trips hides, and is logged once", () => {
    const lines = worker.log().split("\n");
    expect(lines.filter((line) => line.includes("a predicate that trips"))).toHaveLength(1);
  });
});
