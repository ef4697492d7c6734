// Names of an upstream that clients refuse: one tool called `a.b` made claude.ai, Claude Desktop, Codex and Copilot CLI refuse all
// tools of a tenant, and a short name with a slash was padded to 64 characters.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { hashOf, listedName } from "../../src/gateway/listed-name.ts";
import { CommandLine } from "../support/command-line.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import {
  gatewayTenant,
  missingOf,
  namesIn,
  startGatewayWorker,
  type GatewayTenant,
} from "../support/gateway-tenant.ts";
import { mcpClient, ERAS, post, type Client, type Json } from "../support/mcp-client.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { ScriptedServer, sessionScript } from "../support/scripted-server.ts";

const origin = await startGatewayWorker({}, "noting-worker");
const admin = fixtureAdmin(origin, "dotted");

const LONG = "x".repeat(200);
const OWN = ["a.b", "a/b", "größe", LONG, "ok"];
const LISTED = OWN.map((own) => listedName("names", own));
const textResult = (text: string): Json => ({ content: [{ type: "text", text }] });
const saying = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, () => textResult(name)]));

async function upstream(...args: Parameters<typeof startUpstream>): Promise<Upstream> {
  const up = await startUpstream(...args);
  afterAll(() => up.close());
  return up;
}

/** Of this Worker's own tools nothing is to be seen. */
const ONLY = { tools: { "lab_*": { enabled: false } } };

const tenantOf = (upstreams: Readonly<Record<string, Json>>, document: Json = {}) =>
  gatewayTenant(origin, admin, upstreams, { document: { ...ONLY, ...document } });

async function linesOf(path: string): Promise<Json[]> {
  const response = await fetch(`${origin}/admin/v1${path}`, { headers: bearer(ADMIN_TOKEN) });
  const text = await response.text();
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Json]));
}

async function tools(client: Client): Promise<string[]> {
  return namesIn((await client.request("tools/list")).result);
}

async function called(client: Client, name: string): Promise<unknown> {
  const { result, error } = await client.request("tools/call", { name, arguments: {} });
  return error?.message ?? (result["content"] as Json[])[0]?.["text"];
}

describe.each(ERAS)("an upstream of era $era whose names clients refuse", ({ era, revision }) => {
  let tenant: GatewayTenant;
  let client: Client;
  const profiles = {
    dotted: { tools: { allow: ["names__a.*"] } },
    without: { tools: { deny: ["names__a.b"] } },
    renamed: { tools: { rename: { "names__a.b": { name: "ab" } } } },
  };
  const scopes = { dotted: { tools: ["names__a.*"] } };
  const document = { profiles, scopes, audit: { calls: "digest", wait: true } };

  beforeAll(async () => {
    const prompt = () => ({ messages: [{ role: "user", content: { type: "text", text: "hi" } }] });
    const up = await upstream(saying(OWN), {}, { "say.hi": prompt });
    tenant = await tenantOf({ names: { url: up.url, era } }, document);
    client = await tenant.client(revision);
  });

  test("is listed under names that every client takes, without padding, and a legal name as it is", async () => {
    const names = await tools(client);
    expect(names).toEqual([
      expect.stringMatching(/^names__a_b-[0-9a-v]{8}$/),
      expect.stringMatching(/^names__a_b-[0-9a-v]{8}$/),
      expect.stringMatching(/^names__gr__e-[0-9a-v]{8}$/),
      expect.stringMatching(/^names__x{48}-[0-9a-v]{8}$/),
      "names__ok",
    ]);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(new Set(names).size).toBe(names.length);
  });

  test("says its own name", async () => {
    const { result } = await client.request("tools/list");
    const metas = (result["tools"] as { _meta?: Json }[]).map(({ _meta }) => _meta?.["tenantry/name"]);
    expect(metas).toEqual(["a.b", "a/b", "größe", LONG, "ok"]);
  });

  test.each(OWN)("calls %s by the listed name and by ID__OWN", async (own) => {
    expect(await called(client, listedName("names", own))).toBe(own);
    expect(await called(client, `names__${own}`)).toBe(own);
  });

  test("calls nothing by the padded name of before", async () => {
    const padded = `${"names__a_b".padEnd(53, "_")}-${hashOf("a/b")}`;
    expect(await called(client, padded)).toBe(`Unknown tool: ${padded}`);
  });

  test("gives a prompt by both names, and lists the legal one", async () => {
    const { result } = await client.request("prompts/list");
    const listed = listedName("names", "say.hi");
    expect(result["prompts"]).toContainEqual({ name: listed, _meta: { "tenantry/name": "say.hi" } });
    for (const name of [listed, "names__say.hi"]) {
      expect((await client.request("prompts/get", { name })).result["messages"]).toHaveLength(1);
    }
  });

  test("is called in an envelope by its own name", async () => {
    const sendEnvelope = (name: string) =>
      post(`${origin}/gateway/${tenant.id}`, {
        server_id: "names",
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name, arguments: {} },
      });
    expect((await sendEnvelope("a.b")).result).toMatchObject(textResult("a.b"));
    const [listed = ""] = LISTED;
    expect((await sendEnvelope(listed.slice("names__".length))).error?.message).toMatch(/^Unknown tool/);
  });

  test("is selected by scopes and profiles through ID__OWN", async () => {
    const { token } = await admin.key(tenant.id, { scopes: ["dotted"] });
    const scoped = await mcpClient(revision, tenant.url, {}, bearer(token));
    expect(await tools(scoped)).toEqual([LISTED[0]]);
    expect(await called(scoped, "names__a.b")).toBe("a.b");
    expect(await called(scoped, LISTED[1] ?? "")).toMatch(/^Unknown tool/);
    expect(await tools(await mcpClient(revision, `${tenant.url}/dotted`))).toEqual([LISTED[0]]);
    const without = await mcpClient(revision, `${tenant.url}/without`);
    expect(await tools(without)).toEqual(LISTED.slice(1));
    for (const name of ["names__a.b", LISTED[0] ?? ""]) expect(await called(without, name)).toMatch(/^Unknown tool/);
  });

  test("has the name alone that a profile gives it", async () => {
    const renamed = await mcpClient(revision, `${tenant.url}/renamed`);
    expect(await tools(renamed)).toEqual(["ab", ...LISTED.slice(1)]);
    expect(await called(renamed, "ab")).toBe("a.b");
  });

  test.each([
    ["ID__OWN", "names__a/b"],
    ["the listed name", listedName("names", "a/b")],
  ])("is suspended and resumed by %s, under both", async (_by, name) => {
    await admin.suspend(tenant.id, "tool", name, "closed");
    expect(await tools(client)).toEqual(LISTED.filter((_, at) => at !== 1));
    for (const one of ["names__a/b", LISTED[1] ?? ""])
      expect(await called(client, one)).toBe(`${one} is suspended: closed`);
    expect((await admin.ask("GET", `/tenants/${tenant.id}/suspensions`))["items"]).toMatchObject([
      { name: "names__a/b" },
    ]);
    await admin.ask("DELETE", `/tenants/${tenant.id}/suspensions/tool/${encodeURIComponent(name)}`);
    await expect.poll(() => called(client, "names__a/b")).toBe("a/b");
  });

  test("is recorded, counted and explained as ID__OWN, by whichever name it is called", async () => {
    const before = (await linesOf(`/tenants/${tenant.id}/calls`)).length;
    for (const name of ["names__größe", listedName("names", "größe")]) await called(client, name);
    const recorded = (await linesOf(`/tenants/${tenant.id}/calls`))
      .slice(before - 1)
      .flatMap(({ entry }) => entry ?? []);
    expect(recorded).toMatchObject([
      { name: "names__größe", upstream: "names" },
      { name: "names__größe", upstream: "names" },
    ]);
    const counted = async () => (await linesOf(`/tenants/${tenant.id}/usage/calls?open=1`)).map(({ name }) => name);
    await expect.poll(counted, { timeout: 40_000 }).toContain("names__größe");
    expect(await counted()).not.toContain(listedName("names", "größe"));
    for (const name of ["names__a.b", LISTED[0] ?? ""]) {
      const query = new URLSearchParams({ kind: "tools", name, profile: "without" });
      expect(await admin.ask("GET", `/tenants/${tenant.id}/explain?${query}`)).toMatchObject({
        visible: false,
        decidedBy: ["profile: denied by names__a.b"],
      });
    }
  });
});

describe("a limit of calls of one tool", () => {
  test("counts a call by either name", async () => {
    const up = await upstream(saying(["a.b", "a/b"]));
    const tenant = await tenantOf({ names: { url: up.url } }, { limits: { addressToolCalls: 1 } });
    const client = await tenant.client();
    expect(await called(client, listedName("names", "a.b"))).toBe("a.b");
    expect(await called(client, "names__a.b")).toMatch(/^Too many requests/);
    expect(await called(client, "names__a/b")).toBe("a/b");
  });
});

describe("a document of a tenant with such an upstream", () => {
  let tenant: GatewayTenant;
  let upstreams: Json;

  beforeAll(async () => {
    const up = await upstream(saying(OWN));
    upstreams = { names: { url: up.url } };
    tenant = await tenantOf({ names: { url: up.url } });
  });

  const write = (document: Json) => admin.apply(tenant.id, { ...ONLY, upstreams, ...document });

  test("says ID__OWN without a warning, and of a listed name it is told what was meant", async () => {
    const of = (name: string) => ({
      scopes: { one: { tools: [name] } },
      tools: { ...ONLY.tools, [name]: { enabled: true } },
    });
    for (const own of OWN) expect(await write(of(`names__${own}`))).not.toHaveProperty("warnings");
    await expect(write(of(LISTED[0] ?? ""))).rejects.toThrow("there is no tool of this name: did you mean names__a.b?");
  });

  test("renames a tool to what every client takes, and to nothing else", async () => {
    const to = (name: string) => ({ profiles: { p: { tools: { rename: { "names__a/b": { name } } } } } });
    for (const name of ["a.b", "a b", "x".repeat(65), ""]) {
      await expect(write(to(name))).rejects.toThrow("1 to 64 characters of A-Z, a-z, 0-9, _ and -");
    }
    await write(to("a_b"));
    expect(await tools(await mcpClient("2025-11-25", `${tenant.url}/p`))).toContain("a_b");
  });
});

describe("a legal name", () => {
  const taken = listedName("names", "a.b").slice("names__".length);

  test.each([
    ["before", [taken, "a.b"]],
    ["after", ["a.b", taken]],
  ])("is its owner's where it is listed %s one that would become it", async (_when, names) => {
    const up = await upstream(saying(names));
    const tenant = await tenantOf({ names: { url: up.url } });
    const client = await tenant.client();
    const { result } = await client.request("tools/list");
    expect(result["tools"]).toMatchObject([{ name: `names__${taken}` }]);
    expect(missingOf(result)).toEqual([{ source: "names", why: "1 definition is left out: a.b: is listed twice" }]);
    expect(await called(client, `names__${taken}`)).toBe(taken);
    expect(await called(client, "names__a.b")).toMatch(/^Unknown tool/);
  });

  test("of a neighbour stays as it is, whatever another upstream lists", async () => {
    const [one, other] = await Promise.all([upstream(saying(["a_b", "a.b"])), upstream(saying(["a.b", "s__a.b"]))]);
    const tenant = await tenantOf({ name: { url: one.url }, names: { url: other.url } });
    expect(await tools(await tenant.client())).toEqual([
      "name__a_b",
      listedName("name", "a.b"),
      listedName("names", "a.b"),
      listedName("names", "s__a.b"),
    ]);
  });
});

describe("the rest of a long result of a tool with blanks and slashes in its name", () => {
  test("is read for as long as the tool is seen", async () => {
    const own = "prompts/list of all";
    const up = await upstream({ [own]: () => textResult("long ".repeat(2000)) });
    const upstreams = { names: { url: up.url } };
    const resultBudget = { bytes: 1000 };
    const tenant = await tenantOf(upstreams, { profiles: { brief: { resultBudget } } });
    const { token } = await admin.key(tenant.id);
    const client = await mcpClient("2025-11-25", `${tenant.url}/brief`, {}, bearer(token));
    const { result } = await client.request("tools/call", { name: `names__${own}`, arguments: {} });
    const { uri } = (result["content"] as Json[]).find(({ type }) => type === "resource_link") ?? {};
    expect((await client.request("resources/read", { uri })).result["contents"]).toHaveLength(1);
    const profiles = { brief: { resultBudget, tools: { deny: [`names__${own}`] } } };
    await admin.apply(tenant.id, { ...ONLY, upstreams, profiles });
    expect((await client.request("resources/read", { uri })).error?.message).toBe("Resource not found");
  });
});

describe("the command line", () => {
  const cli = new CommandLine("/", { HOME: "/nowhere", TENANTRY_URL: origin, TENANTRY_TOKEN: ADMIN_TOKEN });

  test("finds nothing to fail in such a tenant, and fails for the upstream itself", async () => {
    const up = await upstream(saying(OWN));
    const tenant = await tenantOf({ names: { url: up.url } });
    const tested = await cli.run(["upstream", "test", tenant.id, "names"]);
    expect([tested.exit, tested.stderr]).toEqual([0, ""]);
    expect((await cli.run(["doctor", tenant.url])).exit).toBe(0);
    const { exit, stdout } = await cli.run(["doctor", up.url]);
    expect(exit).toBe(1);
    expect(stdout).toMatch(/^FAIL +names of tools: 4 of 5 are refused by claude\.ai, Codex and others/m);
  });

  test("fails for an upstream that lists what clients refuse under every name", async () => {
    const object = { type: "object" };
    const schemas = { "a.b": object, either: { ...object, anyOf: [{}] }, text: { type: "string" } };
    const listed = Object.entries(schemas).map(([name, inputSchema]) => ({ name, inputSchema }));
    const script = sessionScript("s", (exchange) => exchange.result({ tools: listed }), { tools: {} });
    const { url } = await ScriptedServer.start(script);
    const tenant = await tenantOf({ names: { url, era: "2025" } });
    const { exit, stdout, stderr } = await cli.run(["upstream", "test", tenant.id, "names"]);
    expect(exit).toBe(1);
    expect(stderr).toContain("names: clients refuse 2 definitions of it");
    expect(stdout).toMatch(
      /^either +anyOf at the top of inputSchema: Claude refuses all tools of a server with such a tool +the server/m,
    );
    expect(stdout).toMatch(/^text +tools +inputSchema must be a schema of type object$/m);
    expect(stdout).not.toContain("a.b");
  });
});
