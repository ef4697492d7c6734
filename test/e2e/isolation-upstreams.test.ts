// Nobody reaches an upstream's things across a boundary: tenants with an upstream of the same id and URL, whose server tells
// them apart by a header alone, × profiles × keys × `/mcp` and `/gateway` × kinds of things × eras, held against an oracle
// that knows the documents alone. The server itself watches that no session is lent to another tenant or another key.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker, type GatewayTenant } from "../support/gateway-tenant.ts";
import { ERAS, post, type Json, type Reply } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";

const TENANTS = ["alpha", "beta", "gamma"] as const;
type TenantName = (typeof TENANTS)[number];
const PROFILES = [null, "narrow", "blind"] as const;
const PRINCIPALS = ["own", "scoped", "foreign"] as const;
const ROUTES = ["mcp", "gateway"] as const;
const markOf = (tenant: TenantName) => `kept-by-${tenant}`;

interface Viewpoint {
  readonly tenant: TenantName;
  readonly profile: (typeof PROFILES)[number];
  readonly principal: (typeof PRINCIPALS)[number];
  readonly route: (typeof ROUTES)[number];
}

/** What the server offers to each tenant: one thing that all have, one that a profile denies, and one of its own. */
const namesOf = (tenant: TenantName) => ["open", "closed", `only_${tenant}`];
const UNIVERSE = [...new Set(TENANTS.flatMap(namesOf)), "never"];
const uriOf = (name: string) => `thing://${name}`;

function patterns(names: readonly string[]): Json {
  const listed = names.map((name) => `up__${name}`);
  return { tools: [...listed, ...names.map((name) => `twin__${name}`)], prompts: listed, resources: names.map(uriOf) };
}

function documentOf(tenant: TenantName): Json {
  const deny = patterns(["closed"]);
  const none = { allow: [] };
  return {
    mode: "key",
    scopes: { reader: patterns(["open"]) },
    profiles: {
      narrow: Object.fromEntries(Object.entries(deny).map(([kind, names]) => [kind, { deny: names }])),
      blind: { tools: none, prompts: none, resources: none, title: `blind ${tenant}` },
    },
  };
}

function maySee({ tenant, profile, principal }: Viewpoint, name: string): boolean {
  if (!namesOf(tenant).includes(name) || profile === "blind") return false;
  if (profile === "narrow" && name === "closed") return false;
  return principal !== "scoped" || name === "open";
}

/** Of era 2025 with sessions, or of 2026: whose request it is says the header that the document names. */
class Server {
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  /** Who called first in a session. */
  readonly #sessions = new Map<string, string>();
  readonly lent: string[] = [];
  url = "";

  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") return void response.writeHead(request.method === "DELETE" ? 204 : 405).end();
    const { id, method, params = {} } = (await json(request)) as { id?: unknown; method: string; params?: Json };
    const tenant = request.headers["x-tenant"] as TenantName | undefined;
    const session = request.headers["mcp-session-id"];
    if (method === "initialize") response.setHeader("mcp-session-id", randomUUID());
    if (typeof session === "string") this.#watch(session, params["arguments"] ?? {});
    if (id === undefined) return void response.writeHead(202).end();
    const is2026 = request.headers["mcp-protocol-version"] === "2026-07-28";
    const found = tenant === undefined ? twinAnswer(method) : answerTo(tenant, method, params);
    const stamp = is2026 ? { resultType: "complete", ttlMs: 3_600_000, cacheScope: "private" } : {};
    const error = { code: -32602, message: "Unknown" };
    response.setHeader("content-type", "application/json");
    const body = found === undefined ? { error } : { result: { ...stamp, ...found } };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
  }

  /** Nothing else of a call tells the server whose it is. */
  #watch(session: string, { who }: { readonly who?: string }): void {
    if (who === undefined) return;
    const first = this.#sessions.get(session) ?? who;
    this.#sessions.set(session, first);
    if (first !== who) this.lent.push(`the session of ${first} to ${who}`);
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Of the upstream that knows no tenants: one tool, under the same name. */
function twinAnswer(method: string): Json | undefined {
  const about = { capabilities: { tools: {} } };
  const answers: Readonly<Record<string, Json>> = {
    initialize: { protocolVersion: "2025-11-25", serverInfo: { name: "s", version: "1" }, ...about },
    "server/discover": { supportedVersions: ["2026-07-28"], ...about },
    "tools/list": { tools: [{ name: "open", inputSchema: { type: "object" } }] },
    "tools/call": { content: [] },
  };
  return answers[method];
}

function answerTo(tenant: TenantName, method: string, params: Json): Json | undefined {
  const mark = markOf(tenant);
  const about = { capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} } };
  const listed = namesOf(tenant).map((name) => ({ name, description: `${name}, ${mark}` }));
  const { name: named = "", uri = "", ref = {} } = params as { name?: string; uri?: string; ref?: { name?: string } };
  const has = (name: string) => namesOf(tenant).includes(name);
  const content = { type: "text", text: mark };
  const answers: Readonly<Record<string, () => Json | undefined>> = {
    initialize: () => ({ protocolVersion: "2025-11-25", serverInfo: { name: "s", version: "1" }, ...about }),
    "server/discover": () => ({ supportedVersions: ["2026-07-28"], ...about }),
    "tools/list": () => ({ tools: listed.map((tool) => ({ ...tool, inputSchema: { type: "object" } })) }),
    "prompts/list": () => ({ prompts: listed.map((prompt) => ({ ...prompt, arguments: [{ name: "a" }] })) }),
    "resources/list": () => ({ resources: listed.map((one) => ({ ...one, uri: uriOf(one.name) })) }),
    "resources/templates/list": () => ({ resourceTemplates: [] }),
    "tools/call": () => (has(named) ? { content: [content] } : undefined),
    "prompts/get": () => (has(named) ? { messages: [{ role: "user", content }] } : undefined),
    "resources/read": () =>
      has(uri.slice("thing://".length)) ? { contents: [{ uri, mimeType: "text/plain", text: mark }] } : undefined,
    "completion/complete": () => (has(ref.name ?? "") ? { completion: { values: [mark] } } : undefined),
  };
  return answers[method]?.();
}

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "upiso");

interface Made extends GatewayTenant {
  readonly keys: Readonly<Record<Viewpoint["principal"], string>>;
}

describe.each(ERAS)("upstreams of era $era", ({ era, revision }) => {
  const server = new Server();
  const made = new Map<TenantName, Made>();
  let combinations = 0;

  beforeAll(async () => {
    await server.start();
    const tenants = new Map<TenantName, GatewayTenant>();
    for (const tenant of TENANTS) {
      const headers = { "x-tenant": tenant };
      // The twin is the same in every tenant, to the last character.
      const upstreams = { up: { url: server.url, era, headers }, twin: { url: server.url, era } };
      const open = await gatewayTenant(origin, admin, upstreams);
      await admin.apply(open.id, { ...documentOf(tenant), upstreams });
      tenants.set(tenant, open);
    }
    for (const [at, tenant] of TENANTS.entries()) {
      const [here, other] = [tenants.get(tenant), tenants.get(TENANTS[(at + 1) % TENANTS.length] ?? "alpha")];
      if (!here || !other) throw new Error("there are three tenants");
      const keys = {
        own: (await admin.key(here.id)).token,
        scoped: (await admin.key(here.id, { scopes: ["reader"] })).token,
        foreign: (await admin.key(other.id)).token,
      };
      made.set(tenant, { ...here, keys });
    }
  });
  afterAll(() => server.stop());

  const viewpoints: readonly Viewpoint[] = TENANTS.flatMap((tenant) =>
    PROFILES.flatMap((profile) =>
      PRINCIPALS.flatMap((principal) => ROUTES.map((route) => ({ tenant, profile, principal, route }))),
    ),
  );

  async function ask(from: Viewpoint, method: string, params: Json, upstream = "up"): Promise<Reply> {
    const { id = "", keys } = made.get(from.tenant) ?? {};
    const { headers, body } = write(revision, method, params);
    const path = `${from.route}/${id}${from.profile === null ? "" : `/${from.profile}`}`;
    const message = from.route === "gateway" ? { server_id: upstream, ...body } : body;
    const key = bearer(keys?.[from.principal] ?? "");
    const sent = { ...headers, ...key };
    // An unknown server is -32001 on `/gateway` in both eras, which era 2026 has no place for.
    const checked = from.route === "gateway" && from.profile === "blind" ? {} : { revision, method };
    const reply = await post(`${origin}/${path}`, message, { headers: sent, ...checked });
    for (const other of TENANTS) if (other !== from.tenant) expect(reply.text).not.toContain(markOf(other));
    combinations += 1;
    return reply;
  }

  const nameAt = ({ route }: Viewpoint, name: string) => (route === "mcp" ? `up__${name}` : name);
  const KINDS: readonly (readonly [method: string, params: (from: Viewpoint, name: string) => Json])[] = [
    ["tools/call", (from, name) => ({ name: nameAt(from, name), arguments: {} })],
    ["prompts/get", (from, name) => ({ name: nameAt(from, name) })],
    ["resources/read", (_from, name) => ({ uri: uriOf(name) })],
    [
      "completion/complete",
      (from, name) => ({
        ref: { type: "ref/prompt", name: nameAt(from, name) },
        argument: { name: "a", value: "" },
      }),
    ],
  ];

  test("are listed as the document says, and no further", async () => {
    for (const from of viewpoints) {
      for (const kind of ["tools", "prompts", "resources"] as const) {
        const { status, error, result } = await ask(from, `${kind}/list`, {});
        if (from.principal === "foreign") expect(status).toBe(401);
        // An envelope gets no answer about things that the view hides.
        else if (from.profile === "blind" && from.route === "gateway") expect(error?.code).toBe(-32001);
        else {
          const all = (result[kind] as Json[]).map(({ name }) => String(name));
          const listed = all.filter((name) => !name.startsWith("twin__"));
          const expected = namesOf(from.tenant).filter((name) => maySee(from, name));
          const named = expected.map((name) => (kind === "resources" ? name : nameAt(from, name)));
          expect({ from, kind, listed: listed.toSorted() }).toEqual({ from, kind, listed: named.toSorted() });
        }
      }
    }
  });

  test.each(KINDS)("answer %s where it may be seen, and are as nothing elsewhere", async (method, params) => {
    for (const from of viewpoints) {
      const shape = ({ text }: Reply, name: string) => text.replaceAll(name, "NAME").replaceAll(/"id":\d+/g, '"id":0');
      const nothing = shape(await ask(from, method, params(from, "never")), "never");
      for (const name of UNIVERSE) {
        const reply = await ask(from, method, params(from, name));
        const sees = from.principal !== "foreign" && maySee(from, name);
        const told = { marked: reply.text.includes(markOf(from.tenant)), asNothing: shape(reply, name) === nothing };
        expect({ from, name, ...told }).toEqual({ from, name, marked: sees, asNothing: !sees });
      }
    }
  });

  test("lend no session to another tenant or another key", async () => {
    const callers = viewpoints.filter(({ profile, principal }) => profile === null && principal !== "foreign");
    for (const upstream of ["up", "twin", "up", "twin"]) {
      for (const from of callers) {
        const who = `${from.tenant} ${from.principal}`;
        const name = from.route === "mcp" ? `${upstream}__open` : "open";
        const { result } = await ask(from, "tools/call", { name, arguments: { who } }, upstream);
        expect(result["content"]).toBeDefined();
      }
    }
    expect(server.lent).toEqual([]);
    // Of each tenant two keys, at two upstreams.
    if (era === "2025") expect(server.sessions).toBe(TENANTS.length * 4);
    console.log(`${combinations} combinations, ${server.sessions} sessions`);
    expect(combinations).toBeGreaterThan(1000);
  });
});
