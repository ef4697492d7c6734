// Nothing crosses between two tenants that come from the author's function, nor between the callers of one: an app's users and
// the Worker's own code, with the same names everywhere, in both eras. Whatever one viewer was given is tried at every other one.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { admin, createWorker, defineTool, links, type AppUser, type Env } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { DEFAULT_PLACEMENT } from "../../src/tenants/directory/placement.ts";
import { tenantStubOf } from "../../src/tenants/directory/tenant-stubs.ts";
import { ANY_UID } from "../../src/tenants/object/tenant-uid.ts";
import { ROOT } from "../support/workerd/admin.ts";
import { readerOf } from "../support/workerd/served-tenant.ts";

const TENANTS = ["hazel", "maple"] as const;
const NAMES = ["ada", "bob"] as const;
const REVISIONS = ["2025-11-25", "2026-07-28"] as const;
const MOST_CALLS = 40;
const SECRETS_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const bindings = { ...env, ADMIN_TOKEN: ROOT, SECRETS_KEY } as Env;

/** In what a tenant keeps, and nowhere else. */
const markOf = (tenant: string) => `kept-by-${tenant}`;

const mcp = createWorker({
  path: "/grove",
  tenants: (id) =>
    (TENANTS as readonly string[]).includes(id)
      ? { mode: "key", instructions: markOf(id), maxStalenessMs: 300_000, limits: { toolCalls: MOST_CALLS } }
      : undefined,
  authenticate: (request) => JSON.parse(request.headers.get("x-user") ?? "null") as AppUser,
  features: [admin(), links()],
  tools: [
    defineTool({ name: "whoami", handler: (_args, ctx) => JSON.stringify([ctx.tenant.id, ctx.principal.id]) }),
    defineTool({ name: "secret", handler: async (_args, ctx) => (await ctx.secret("TOKEN")) ?? "none" }),
    defineTool({
      name: "link",
      handler: (_args, ctx) => ctx.link(`${markOf(ctx.tenant.id)} ${ctx.principal.id}`, { name: "l" }),
    }),
    defineTool({
      name: "pay",
      handler: async (_args, ctx) =>
        `${ctx.principal.id}: ${(await ctx.elicit("sure", { message: "Pay?", schema: { type: "object" } })).action}`,
    }),
    defineTool({
      name: "wait",
      resumable: true,
      handler: async (_args, ctx) => {
        while (!(await ctx.resources.get("gate:open"))) await scheduler.wait(20);
        return JSON.stringify([ctx.tenant.id, ctx.principal.id]);
      },
    }),
    defineTool({ name: "counted", handler: () => "counted" }),
  ],
});

type Json = Readonly<Record<string, unknown>>;
interface Received {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

interface Viewer {
  readonly tenant: (typeof TENANTS)[number];
  readonly name: (typeof NAMES)[number];
  readonly kind: "app" | "worker";
  /** Code outside of a call has no era. */
  readonly revision: (typeof REVISIONS)[number] | null;
}

const APPS: readonly Viewer[] = TENANTS.flatMap((tenant) =>
  NAMES.flatMap((name) => REVISIONS.map((revision) => ({ tenant, name, kind: "app" as const, revision }))),
);
const WORKERS: readonly Viewer[] = TENANTS.flatMap((tenant) =>
  NAMES.map((name) => ({ tenant, name, kind: "worker" as const, revision: null })),
);
const ALL = [...APPS, ...WORKERS];
const appsOf = (revision: Viewer["revision"]) => APPS.filter((viewer) => viewer.revision === revision);
const idOf = ({ kind, name }: Viewer) => `${kind} ${name}`;
const isSame = (a: Viewer, b: Viewer) => a.tenant === b.tenant && idOf(a) === idOf(b);
const OTHER = { hazel: "maple", maple: "hazel" } as const;

/** Whatever is told: nothing of the other tenant's is in it. */
function only({ tenant }: Viewer, text: string): string {
  expect(text).not.toContain(markOf(OTHER[tenant]));
  return text;
}

function headersOf({ tenant, name, revision }: Viewer, method: string, params: Json): Record<string, string> {
  const known = { "x-user": JSON.stringify({ tenant, id: name }), "mcp-protocol-version": revision ?? "" };
  if (revision !== "2026-07-28") return known;
  const about = (params["name"] ?? params["uri"]) as string | undefined;
  return { ...known, "mcp-method": method, ...(about === undefined ? {} : { "mcp-name": about }) };
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
};

function requestOf(viewer: Viewer, method: string, params: Json, more: Record<string, string>): Request {
  const told = viewer.revision === "2026-07-28" ? { ...params, _meta: META } : params;
  return new Request(`https://mcp.example.com/grove/mcp/${viewer.tenant}`, {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...headersOf(viewer, method, params),
      ...more,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: told }),
  });
}

const fetched = async (request: Request) => mcp.fetch(request, bindings, createExecutionContext());

/** As an app's user by a request, as the Worker's own code without one. */
async function ask(
  viewer: Viewer,
  method: string,
  params: Json = {},
  more: Record<string, string> = {},
): Promise<Received> {
  if (viewer.kind === "app") {
    const { status, headers, ...answered } = await fetched(requestOf(viewer, method, params, more)).then(
      async (one) => ({
        status: one.status,
        headers: one.headers,
        text: await one.text(),
      }),
    );
    return { status, headers, text: only(viewer, answered.text) };
  }
  const outside = mcp.tenant(bindings, viewer.tenant);
  const as = { as: { id: viewer.name } };
  const { name = "", uri = "", arguments: args } = params as { name?: string; uri?: string; arguments?: never };
  try {
    const said = await (method === "resources/read" ? outside.readResource(uri, as) : outside.callTool(name, args, as));
    return { status: 200, headers: new Headers(), text: only(viewer, JSON.stringify(said)) };
  } catch (error) {
    const { message, code } = error as { message: string; code?: string };
    return { status: code === "limited" ? 429 : 400, headers: new Headers(), text: only(viewer, message) };
  }
}

const call = (viewer: Viewer, name: string, more: Json = {}) =>
  ask(viewer, "tools/call", { name, arguments: {}, ...more });

/** What each was given, at each of the others, and at its own. */
async function everywhere(
  givers: readonly Viewer[],
  takers: readonly Viewer[],
  give: (from: Viewer) => Promise<string>,
  present: (given: string, to: Viewer, isOwn: boolean) => Promise<void>,
): Promise<void> {
  const given = [];
  for (const from of givers) given.push({ from, text: await give(from) });
  for (const { from, text } of given) for (const to of takers) await present(text, to, isSame(from, to));
}

const policyOf = (tenant: string) =>
  createRpcClient(tenantStubOf(bindings, { id: tenant, placement: DEFAULT_PLACEMENT, uid: ANY_UID }), policyStore);

beforeAll(async () => {
  for (const tenant of TENANTS) {
    const headers = { authorization: `Bearer ${ROOT}`, "content-type": "application/json" };
    const url = `https://mcp.example.com/grove/admin/v1/tenants/${tenant}/secrets/TOKEN`;
    const body = JSON.stringify({ value: markOf(tenant) });
    const set = await fetched(new Request(url, { method: "PUT", headers, body }));
    expect(set.status, await set.text()).toBeLessThan(300);
    const store = mcp.tenant(bindings, tenant).resources;
    await store.write({ uri: "shared:doc", name: "doc", text: markOf(tenant) });
    await store.write({ uri: `own:${tenant}`, name: "doc", text: markOf(tenant) });
  }
});

describe.each(
  ALL.map((viewer) => ({ viewer, what: `${idOf(viewer)} of ${viewer.tenant}, ${viewer.revision ?? "no era"}` })),
)("$what", ({ viewer }) => {
  it("is its own principal in its own tenant", async () => {
    expect((await call(viewer, "whoami")).text).toContain(
      JSON.stringify(JSON.stringify([viewer.tenant, idOf(viewer)])).slice(1, -1),
    );
  });

  it("reads the secret of its tenant", async () => {
    expect((await call(viewer, "secret")).text).toContain(markOf(viewer.tenant));
  });

  it("reads the resources of its tenant, under every name", async () => {
    expect((await ask(viewer, "resources/read", { uri: "shared:doc" })).text).toContain(markOf(viewer.tenant));
    expect((await ask(viewer, "resources/read", { uri: `own:${viewer.tenant}` })).text).toContain(
      markOf(viewer.tenant),
    );
    const { text } = await ask(viewer, "resources/read", { uri: `own:${OTHER[viewer.tenant]}` });
    expect(text).not.toContain("contents");
  });
});

it("a link leads its recipient to its content, and no other caller", async () => {
  const give = async (from: Viewer) => /tenantry:[^"\\]+/.exec((await call(from, "link")).text)?.[0] ?? "";
  await everywhere(ALL, ALL, give, async (uri, to, isOwn) => {
    expect(uri).not.toBe("");
    const { text } = await ask(to, "resources/read", { uri });
    expect({ to, isRead: text.includes(`${markOf(to.tenant)} ${idOf(to)}`) }).toEqual({ to, isRead: isOwn });
  });
});

async function sessionOf(viewer: Viewer): Promise<string> {
  const params = { protocolVersion: viewer.revision, capabilities: {}, clientInfo: { name: "t", version: "1" } };
  return (await ask(viewer, "initialize", params)).headers.get("mcp-session-id") ?? "none";
}

it("a session belongs to the caller who began it, in its tenant", async () => {
  const apps = appsOf("2025-11-25");
  await everywhere(apps, apps, sessionOf, async (session, to, isOwn) => {
    const { status } = await ask(to, "tools/list", {}, { "mcp-session-id": session });
    expect({ to, status }).toEqual({ to, status: isOwn ? 200 : 404 });
  });
});

it("a state is accepted from its recipient, in its tenant", async () => {
  const apps = appsOf("2026-07-28");
  const give = async (from: Viewer) => {
    const { result } = JSON.parse((await call(from, "pay")).text) as { result: { requestState: string } };
    return result.requestState;
  };
  await everywhere(apps, apps, give, async (requestState, to, isOwn) => {
    const { text } = await call(to, "pay", { requestState, inputResponses: { sure: { action: "decline" } } });
    expect(text).toMatch(isOwn ? `${idOf(to)}: decline` : /requestState (belongs to another request|is invalid)/);
  });
});

const ALL_LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

it("a stream gets announcements of its own tenant", async () => {
  const opened = await Promise.all(
    APPS.map(async (viewer) => {
      const { revision } = viewer;
      const listen = "subscriptions/listen";
      const request =
        revision === "2026-07-28"
          ? requestOf(viewer, listen, { notifications: ALL_LISTS }, {})
          : new Request(`https://mcp.example.com/grove/mcp/${viewer.tenant}`, {
              headers: {
                ...headersOf(viewer, "", {}),
                accept: "text/event-stream",
                "mcp-session-id": await sessionOf(viewer),
              },
            });
      const reader = readerOf(await fetched(request));
      if (revision === "2026-07-28") await reader.until("acknowledged");
      return { viewer, reader };
    }),
  );
  const [hazel, maple] = TENANTS.map((tenant) => mcp.tenant(bindings, tenant));
  await hazel?.announce({ tools: true });
  await maple?.announce({ prompts: true });
  await Promise.all([hazel?.announce({ resources: true }), maple?.announce({ resources: true })]);
  for (const { viewer, reader } of opened) {
    const text = await reader.until("resources/list_changed");
    const notifications = ["tools", "prompts"].filter((kind) => text.includes(`${kind}/list_changed`));
    expect({ viewer, notifications }).toEqual({
      viewer,
      notifications: [viewer.tenant === "hazel" ? "tools" : "prompts"],
    });
    await reader.cancel();
  }
});

it("a stored run is shown to its own user, and continues as them in its tenant", async () => {
  const apps = appsOf("2025-11-25");
  const at = ({ tenant }: Viewer) => `https://mcp.example.com/grove/mcp/${tenant}`;
  const begun = [];
  for (const viewer of apps) {
    const session = await sessionOf(viewer);
    const params = { name: "wait", arguments: {} };
    const stream = readerOf(await fetched(requestOf(viewer, "tools/call", params, { "mcp-session-id": session })));
    const text = await stream.until("-0\n");
    const event = /^id: (\S+)$/m.exec(text)?.[1] ?? "none";
    await stream.cancel();
    begun.push({ viewer, session, event });
  }
  const resumed = (viewer: Viewer, session: string, event: string) =>
    fetched(
      new Request(at(viewer), {
        headers: {
          ...headersOf(viewer, "", {}),
          accept: "text/event-stream",
          "mcp-session-id": session,
          "last-event-id": event,
        },
      }),
    );
  for (const { viewer, session, event } of begun) {
    for (const other of begun.filter((one) => one.viewer !== viewer)) {
      for (const theirs of [session, other.session]) {
        const stolen = await resumed(other.viewer, theirs, event);
        await stolen.body?.cancel();
        expect({ by: other.viewer, of: viewer, isRefused: [400, 404].includes(stolen.status) }).toMatchObject({
          isRefused: true,
        });
      }
    }
  }
  for (const tenant of TENANTS) {
    await mcp.tenant(bindings, tenant).resources.write({ uri: "gate:open", name: "gate", text: "open" });
    for (const { viewer, session, event } of begun.filter((one) => one.viewer.tenant === tenant)) {
      const stream = readerOf(await resumed(viewer, session, event));
      const text = only(viewer, await stream.until('"result"'));
      expect(text).toContain(JSON.stringify(JSON.stringify([tenant, idOf(viewer)])).slice(1, -1));
      await stream.cancel();
    }
  }
});

it("a limit counts one caller in one tenant, and so does its audit entry", async () => {
  const [busy, working] = [APPS[0], WORKERS.at(-1)] as [Viewer, Viewer];
  for (const viewer of [busy, working]) {
    const statuses = [];
    for (let times = 0; times <= MOST_CALLS + 5; times += 1) statuses.push((await call(viewer, "counted")).status);
    expect(statuses).toContain(429);
  }
  for (const viewer of ALL.filter((one) => !isSame(one, busy) && !isSame(one, working))) {
    expect({ viewer, status: (await call(viewer, "counted")).status }).toEqual({ viewer, status: 200 });
  }
  const auditOf = async (tenant: string) =>
    JSON.stringify(
      (await policyOf(tenant).audit({ before: null, limit: 100 })).filter(({ action }) => action === "limit.met"),
    );
  for (const [mine, others] of [
    [busy, working],
    [working, busy],
  ] as const) {
    await expect.poll(() => auditOf(mine.tenant), { timeout: 10_000 }).toContain(idOf(mine));
    expect(await auditOf(mine.tenant)).not.toContain(idOf(others));
  }
});
