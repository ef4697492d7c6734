// `tenantry doctor` before servers that have one thing wrong each: which check fails, that its fix is printed, and how the
// command ends.

import { expect, test } from "vitest";
import { commandLine, type Ended } from "../../support/command-line.ts";
import { type Exchange, ScriptedServer, sessionScript, type Json } from "../../support/scripted-server.ts";

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly detail: string;
  readonly fix?: string;
}

const PROTECTED = "/.well-known/oauth-protected-resource/mcp/acme";
const SERVER = "/.well-known/oauth-authorization-server";
const TOOL = {
  name: "one",
  description: "The one.",
  annotations: { readOnlyHint: true },
  inputSchema: { type: "object" },
};

/** A server of era 2025 that is well, but for what `change` answers. */
function healthy(change: (exchange: Exchange) => boolean = () => false) {
  const begin = sessionScript(
    "session",
    (exchange) => {
      if (exchange.name === "ping") exchange.result({});
      else if (exchange.name === "tools/list") exchange.result({ tools: [TOOL] });
      else if (exchange.name === "prompts/list") exchange.result({ prompts: [] });
      else if (exchange.name === "server/discover") exchange.error(-32601, "Method not found");
      else if (exchange.name === "GET" && exchange.path.startsWith("/mcp")) exchange.stream();
      else exchange.refuse(404);
    },
    { tools: {}, prompts: {} },
  );
  return (exchange: Exchange) => {
    if (!change(exchange)) begin(exchange);
  };
}

async function doctor(
  change: (exchange: Exchange, origin: string) => boolean,
  ...args: string[]
): Promise<{ ended: Ended; findings: Finding[]; endpoint: ScriptedServer }> {
  const endpoint = await ScriptedServer.start();
  endpoint.script = healthy((exchange) => change(exchange, new URL(endpoint.url).origin));
  const { cli } = await commandLine();
  const ended = await cli.run(["doctor", endpoint.url, ...args, "--json"]);
  return { ended, findings: JSON.parse(ended.stdout) as Finding[], endpoint };
}

function failedOf(findings: readonly Finding[]): string[] {
  const failed = findings.filter(({ state }) => state === "failed");
  for (const { check, fix } of failed) expect(fix, check).toMatch(/\w/);
  return failed.map(({ check }) => check);
}

const isStranger = ({ headers, verb, path }: Exchange) =>
  verb === "POST" && path.startsWith("/mcp") && headers.authorization === undefined;

/** Refuses whoever has no token, and says where to log in; `metadata` by path. */
function withLogin(metadata: (origin: string) => Readonly<Record<string, Json>>) {
  return (exchange: Exchange, origin: string): boolean => {
    const json = metadata(origin)[exchange.path];
    if (json !== undefined) exchange.json(json);
    else if (isStranger(exchange)) {
      const challenge = `Bearer resource_metadata="${origin}${PROTECTED}"`;
      exchange.json({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "no" } }, 401, {
        "www-authenticate": challenge,
      });
    } else return false;
    return true;
  };
}

const AUTHORIZES = {
  authorization_endpoint: "https://login.example/authorize",
  token_endpoint: "https://login.example/token",
  code_challenge_methods_supported: ["S256"],
};

test("a server of era 2025 alone is no failure, and its session is ended", async () => {
  const { ended, findings, endpoint } = await doctor(() => false);
  expect(failedOf(findings)).toEqual([]);
  expect(ended.exit).toBe(0);
  expect(findings).toContainEqual({ check: "server/discover", state: "skipped", detail: expect.any(String) as string });
  expect(findings).toContainEqual({ check: "tools/list", state: "ok", detail: "1 tool" });
  expect(endpoint.names).toContain("DELETE");
});

test.each<[string, (exchange: Exchange) => boolean, string]>([
  ["no endpoint at the URL", (exchange) => exchange.verb === "POST" && (exchange.refuse(404), true), "access"],
  [
    "an answer that is none of MCP",
    (exchange) => exchange.verb === "POST" && (exchange.refuse(500), true),
    "initialize",
  ],
  ["one list that fails", (exchange) => exchange.name === "prompts/list" && (exchange.refuse(500), true), "lists"],
  [
    "a definition that clients refuse",
    (exchange) => exchange.name === "tools/list" && (exchange.result({ tools: [TOOL, { name: "bad" }] }), true),
    "definitions",
  ],
  [
    "a way to another URL",
    (exchange) => exchange.verb === "POST" && (exchange.json({}, 307, { location: "http://localhost:9/" }), true),
    "access",
  ],
  ["a refusal of everybody", (exchange) => exchange.verb === "POST" && (exchange.refuse(403), true), "access"],
  [
    "a refusal that does not say what is wanted",
    (exchange) => isStranger(exchange) && (exchange.refuse(401), true),
    "access",
  ],
  [
    "no handshake of era 2025",
    (exchange) => exchange.name === "initialize" && (exchange.error(-32603, "broken"), true),
    "initialize",
  ],
  [
    "a stream that is refused",
    (exchange) => exchange.name === "GET" && exchange.path === "/mcp/acme" && (exchange.refuse(502), true),
    "stream",
  ],
  [
    "a list that fails",
    (exchange) => exchange.name === "tools/list" && (exchange.error(-32603, "broken"), true),
    "tools/list",
  ],
])("%s is found, with its fix", async (_what, change, check) => {
  const { ended, findings } = await doctor(change);
  expect([failedOf(findings), ended.exit]).toEqual([[check], 1]);
});

test("a server without a stream is a note, and no failure", async () => {
  const { ended, findings } = await doctor((exchange) => {
    if (exchange.name !== "GET" || exchange.path !== "/mcp/acme") return false;
    exchange.refuse(405);
    return true;
  });
  expect(findings.find(({ check }) => check === "stream")?.state).toBe("note");
  expect(ended.exit).toBe(0);
});

test("a login whose metadata are right is said to be there, at which server", async () => {
  const { ended, findings } = await doctor(
    withLogin((origin) => ({
      [PROTECTED]: { resource: `${origin}/mcp/acme`, authorization_servers: [origin] },
      [SERVER]: AUTHORIZES,
    })),
  );
  expect([failedOf(findings), ended.exit]).toEqual([[], 0]);
  expect(findings.find(({ check }) => check === "login: the server")?.detail).toMatch(/oauth-authorization-server$/);
});

test.each<[string, string, (origin: string) => Readonly<Record<string, Json>>]>([
  ["without metadata", "login: the resource", () => ({})],
  [
    "of another resource",
    "login: the resource",
    () => ({
      [PROTECTED]: { resource: "https://other.example/mcp/acme", authorization_servers: ["https://x.example"] },
    }),
  ],
  [
    "that names no server",
    "login: the resource",
    (origin) => ({ [PROTECTED]: { resource: origin, authorization_servers: [] } }),
  ],
  [
    "whose server has no metadata",
    "login: the server",
    (origin) => ({ [PROTECTED]: { resource: origin, authorization_servers: [`${origin}/nothing`] } }),
  ],
  [
    "whose server has no place for tokens",
    "login: the server",
    (origin) => ({
      [PROTECTED]: { resource: origin, authorization_servers: [origin] },
      [SERVER]: { ...AUTHORIZES, token_endpoint: 7 },
    }),
  ],
  [
    "whose server does not say that it knows PKCE",
    "login: the server",
    (origin) => ({
      [PROTECTED]: { resource: origin, authorization_servers: [origin] },
      [SERVER]: { ...AUTHORIZES, code_challenge_methods_supported: ["plain"] },
    }),
  ],
])("a login %s is found, with its fix", async (_what, check, metadata) => {
  const { ended, findings } = await doctor(withLogin(metadata));
  expect([failedOf(findings), ended.exit]).toEqual([[check], 1]);
});

test("a refused key is said in the server's words", async () => {
  const challenge = 'Bearer error="invalid_token", error_description="The key was revoked"';
  const { ended, findings } = await doctor(
    (exchange) => {
      if (exchange.verb !== "POST") return false;
      exchange.refuse(401, { "www-authenticate": challenge });
      return true;
    },
    "--key",
    "tnt_x",
  );
  expect([failedOf(findings), ended.exit]).toEqual([["key"], 4]);
  expect(findings.find(({ check }) => check === "key")?.detail).toContain("The key was revoked");
});

test.each([
  ["Suspended: unpaid", { code: "suspended" }, "tenantry resume"],
  ["Closed for today", { code: "suspended" }, "tenantry resume"],
  ["Suspended: unpaid", undefined, "tenantry key list"],
  ["This key belongs to another profile", undefined, "tenantry key list"],
])("a key that is known and refused is said in the server's words: %s, %j", async (says, data, fix) => {
  const refuse = (exchange: Exchange) => {
    if (exchange.verb !== "POST") return false;
    if (isStranger(exchange)) exchange.refuse(401, { "www-authenticate": "Bearer" });
    else {
      const error = { code: -32003, message: says, data };
      exchange.json({ jsonrpc: "2.0", id: exchange.message["id"] as string, error }, 403);
    }
    return true;
  };
  const { ended, findings } = await doctor(refuse, "--key", "tnt_x");
  expect([failedOf(findings), ended.exit]).toEqual([["key"], 4]);
  const found = findings.find(({ check }) => check === "key");
  expect([found?.detail, found?.fix].join("\n")).toMatch(new RegExp(`\\(403\\): ${says}\n.*${fix}`));
});

test("a server that refuses everybody is quoted with its reason", async () => {
  const { findings } = await doctor((exchange) => {
    if (exchange.verb !== "POST") return false;
    exchange.error(-32003, "Suspended: unpaid", 403);
    return true;
  });
  expect(findings.find(({ state }) => state === "failed")?.detail).toBe(
    "every caller is refused (403): Suspended: unpaid",
  );
});

test("doctor ends with exit code 6 where nothing listens at the port", async () => {
  const endpoint = await ScriptedServer.start();
  await endpoint.stop();
  const { cli } = await commandLine();
  const { exit, stdout } = await cli.run(["doctor", endpoint.url]);
  expect(exit).toBe(6);
  expect(stdout).toContain("FAIL  tcp: port");
  expect(stdout).not.toContain("access");
});

test("doctor ends with exit code 6 at a host name without an address", async () => {
  const { cli } = await commandLine();
  const { exit, stdout } = await cli.run(["doctor", "https://no-such-host.invalid/mcp/acme", "--json"]);
  expect(exit).toBe(6);
  expect(failedOf(JSON.parse(stdout) as Finding[])).toEqual(["dns"]);
});

test("https before a server that speaks http is said as what it is, and no certificate is blamed", async () => {
  const endpoint = await ScriptedServer.start();
  const { cli } = await commandLine();
  const { exit, stdout } = await cli.run(["doctor", endpoint.url.replace("http:", "https:"), "--json"]);
  expect(exit).toBe(6);
  expect(failedOf(JSON.parse(stdout) as Finding[])).toEqual(["tls"]);
  expect(stdout).toContain("http:// instead of https://");
  expect(stdout).not.toContain("certificate");
});

test("a key where everybody gets in is left out, not made anew", async () => {
  const refused = ({ headers, verb }: Exchange) => verb === "POST" && headers.authorization !== undefined;
  const { findings } = await doctor((exchange) => refused(exchange) && (exchange.refuse(401), true), "--key", "tnt_x");
  expect(failedOf(findings)).toEqual(["key"]);
  expect(findings.find(({ check }) => check === "key")?.fix).toContain("Leave the key out");
});

test("a profile that is not there is said to be misspelt, not that old clients cannot connect", async () => {
  // Without a stream either, whose first event an older client would wait for.
  const { findings } = await doctor(
    (exchange) => ["initialize", "GET"].includes(exchange.name) && (exchange.refuse(404), true),
  );
  expect(findings.find(({ check }) => check === "initialize")?.fix).toContain("profile's name");
});

test("what a server says cannot steer the terminal", async () => {
  const endpoint = await ScriptedServer.start();
  endpoint.script = healthy((exchange) => {
    if (exchange.name !== "tools/list") return false;
    exchange.result({ tools: [{ ...TOOL, name: "a\u001b[2J\nb" }] });
    return true;
  });
  const { cli } = await commandLine();
  const { stdout } = await cli.run(["doctor", endpoint.url]);
  expect(stdout).not.toContain("\u001b");
  expect(stdout).toContain("a\u241b[2J b");
});

const ELSEWHERE = { location: "http://localhost:9/mcp/acme" };

test("a preflight that is redirected is not followed, and the rest is examined", async () => {
  const { findings } = await doctor(
    (exchange) => exchange.verb === "OPTIONS" && (exchange.json({}, 307, ELSEWHERE), true),
  );
  expect(failedOf(findings)).toEqual([]);
  expect(findings.find(({ check }) => check === "pages")).toMatchObject({ state: "note" });
  expect(findings).toContainEqual({ check: "tools/list", state: "ok", detail: "1 tool" });
});

test("more tools than a gateway takes are told of", async () => {
  const many = Array.from({ length: 2000 }, (_, index) => ({ ...TOOL, name: `tool_${index}` }));
  const { findings } = await doctor(
    (exchange) => exchange.name === "tools/list" && (exchange.result({ tools: many }), true),
  );
  expect(findings).toContainEqual({ check: "tools/list", state: "ok", detail: "1000 tools" });
  expect(findings.find(({ check }) => check === "lists")?.detail).toMatch(/more than 1000 definitions/);
});

/** As most servers of the Python SDK are: nothing but `initialize` without a session, and an id of its own. */
const pythonic = (exchange: Exchange): boolean => {
  if (exchange.verb !== "POST" || exchange.name === "initialize" || exchange.headers["mcp-session-id"]) return false;
  const error = { code: -32600, message: "Bad Request: Missing session ID" };
  exchange.json({ jsonrpc: "2.0", id: "server-error", error }, 400);
  return true;
};

test("a server that refuses what comes before a session, with an id of its own, is examined and called", async () => {
  const { ended, findings, endpoint } = await doctor(pythonic);
  expect([failedOf(findings), ended.exit]).toEqual([[], 0]);
  expect(findings).toContainEqual({ check: "tools/list", state: "ok", detail: "1 tool" });
  const { cli } = await commandLine();
  const { exit, stdout } = await cli.run(["call", endpoint.url]);
  expect([exit, stdout]).toEqual([0, expect.stringMatching("one")]);
  expect((await cli.run(["connect", endpoint.url, "--client", "curl"])).exit).toBe(0);
});

test("heartbeats as events are told of, and what follows is read", async () => {
  const { ended, findings } = await doctor((exchange) => {
    if (exchange.name !== "tools/list") return false;
    const { id } = exchange.message as { id: number };
    exchange
      .stream()
      .raw('data: {"type":"heartbeat"}\n\n')
      .event({ jsonrpc: "2.0", id, result: { tools: [TOOL] } })
      .end();
    return true;
  });
  expect([failedOf(findings), ended.exit]).toEqual([[], 0]);
  expect(findings.find(({ check }) => check === "events")?.detail).toMatch(
    /^1 event of its streams without an MCP message/,
  );
});
