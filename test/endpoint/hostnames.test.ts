// A tenant's own hostname, `{tenant}.HOST` or one that it claimed, serves its endpoint alone; any other is the
// Worker's.

import { beforeAll, describe, expect, test } from "vitest";
import { ADMIN_TOKEN, TENANT_HOST } from "../../scripts/fixture-server.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { ERAS, type Json } from "../support/mcp-client.ts";
import { expectOfficial } from "../support/official-schema.ts";
import { sendRaw, write } from "../support/raw-http.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "hosts");

let tenant = "";
let other = "";
const OWN = "mcp.customer.example";
beforeAll(async () => {
  const document = {
    title: "Hosted",
    tools: { "*": { enabled: false }, lab_echo: { enabled: true } },
    profiles: { small: { title: "Small", tools: { rename: { lab_echo: { name: "echo" } } } } },
  };
  tenant = await admin.tenant({ ...document, hostnames: [OWN] });
  other = await admin.tenant(document);
});

const hosts = () => [`${tenant}.${TENANT_HOST}`, OWN];

describe.each(ERAS)("in era $era", ({ revision }) => {
  async function ask(host: string, path: string, method = "tools/list", params: Json = {}) {
    const { headers, body } = write(revision, method, params);
    const reply = await sendRaw(`${origin}${path}`, { headers: { ...headers, host }, body: JSON.stringify(body) });
    const message = JSON.parse(reply.text) as Json & { result?: Json; error?: { code: number; message: string } };
    expectOfficial(revision, message, { direction: "server", ...(message.result ? { method } : {}) });
    return { status: reply.status, ...message };
  }

  async function toolsAt(host: string, path: string): Promise<string[] | number> {
    const { status, result } = await ask(host, path);
    return result ? (result.tools as { name: string }[]).map(({ name }) => name) : status;
  }

  test("a tenant is served at /mcp of its hostnames, and its profiles under it", async () => {
    for (const host of hosts()) {
      expect(await toolsAt(host, "/mcp")).toEqual(["lab_echo"]);
      expect(await toolsAt(host, "/mcp/")).toEqual(["lab_echo"]);
      expect(await toolsAt(host, "/mcp/small")).toEqual(["echo"]);
      const called = await ask(host, "/mcp/small", "tools/call", { name: "echo", arguments: { a: 1 } });
      expect(called.result?.content).toEqual([{ type: "text", text: '{"a":1}' }]);
    }
  });

  test.each(["", ":80", ":8362", ":", ".", "..", ".:", ".:80", "..:8362"])(
    "the hostname may end in '%s', in any case",
    async (end) => {
      for (const host of hosts()) expect(await toolsAt(`${host.toUpperCase()}${end}`, "/mcp")).toEqual(["lab_echo"]);
    },
  );

  test("no other tenant can be named on it, not even itself", async () => {
    for (const host of hosts()) {
      for (const path of [`/mcp/${tenant}`, `/mcp/${other}`, "/mcp/lab", `/mcp/${tenant}/small`, "/mcp/small/more"]) {
        expect([path, await toolsAt(host, path)]).toEqual([path, 404]);
      }
    }
  });

  test.each([
    ["nobody", 401],
    ["www", 404],
    ["admin", 404],
    ["a.hosts-1", 404],
    ["", 404],
    ["-", 404],
  ] as const)(
    "'%s' of the domain belongs to no tenant: %i, whether or not a tenant has the name",
    async (name, status) => {
      expect(await toolsAt(`${name}.${TENANT_HOST}`, "/mcp")).toBe(status);
      expect(await toolsAt(`${name}.${TENANT_HOST}`, `/mcp/${tenant}`)).toBe(status);
    },
  );

  test.each([TENANT_HOST, "unclaimed.example", `evil${TENANT_HOST}`, `hosts-1.${TENANT_HOST}.example`])(
    "%s is the Worker's own: tenants are named by the path",
    async (host) => {
      expect(await toolsAt(host, `/mcp/${tenant}`)).toEqual(["lab_echo"]);
      expect(await toolsAt(host, `/mcp/${tenant}/small`)).toEqual(["echo"]);
      expect(await toolsAt(host, "/mcp")).toBe(404);
    },
  );

  test("a tenant in code has its hostname too", async () => {
    const { result } = await ask(`lab.${TENANT_HOST}`, "/mcp", "tools/call", { name: "lab_echo", arguments: {} });
    expect(result?.content).toEqual([{ type: "text", text: "{}" }]);
  });

  test("a released hostname no longer leads to the tenant, and leads to another once it claims it", async () => {
    const hostname = `moves-${revision}.example`;
    const [from, to] = [await admin.tenant({ hostnames: [hostname] }), await admin.tenant()];
    expect(await toolsAt(hostname, "/mcp")).toContain("lab_echo");
    await admin.apply(from, {});
    expect(await toolsAt(hostname, "/mcp")).toBe(404);
    await admin.apply(to, { hostnames: [hostname], tools: { "*": { enabled: false } } });
    expect(await toolsAt(hostname, "/mcp")).toEqual([]);
  });
});

describe("on a tenant's hostname", () => {
  const get = (host: string, path: string, headers: Record<string, string> = {}) =>
    sendRaw(`${origin}${path}`, { method: "GET", headers: { host, ...headers } });

  test.each([
    "/admin",
    "/admin/",
    "/admin/v1/tenants",
    "/admin/openapi.json",
    "/ADMIN/v1/tenants",
    "//admin/v1/tenants",
  ])("%s is not there, whatever the token", async (path) => {
    for (const host of [...hosts(), `nobody.${TENANT_HOST}`, `${hosts()[0]}.`]) {
      const reply = await get(host, path, { authorization: `Bearer ${ADMIN_TOKEN}` });
      expect([host, reply.status]).toEqual([host, 404]);
    }
  });

  test("the admin API is at the Worker's own", async () => {
    for (const host of [TENANT_HOST, "unclaimed.example", "tenantry.acme.workers.dev", "mcp.localhost", "127.0.0.1"]) {
      // Where one of these is public, a token is taken by https alone.
      const sent = { "x-forwarded-proto": "https" };
      const { status } = await get(host, "/admin/v1/tenants", { ...sent, authorization: `Bearer ${ADMIN_TOKEN}` });
      expect([host, status]).toEqual([host, 200]);
      expect((await get(host, "/admin/v1/tenants", sent)).status).toBe(401);
    }
  });

  test.each([
    ["/", "/mcp"],
    ["/mcp", "/mcp"],
    ["/mcp/small", "/mcp/small"],
  ])("the page at %s shows an address that works there", async (path, shown) => {
    for (const host of hosts()) {
      const { status, text } = await get(host, path, { accept: "text/html" });
      expect(status).toBe(200);
      const [, address] = /<code class="text">https?:\/\/[^/]+(\/[^<]*)<\/code>/.exec(text) ?? [];
      expect(address).toBe(shown);
    }
  });

  test("the page on the Worker's own shows the tenant's path", async () => {
    const { text } = await get(TENANT_HOST, `/mcp/${tenant}/small`, { accept: "text/html" });
    expect(text).toContain(`/mcp/${tenant}/small</code>`);
  });
});
