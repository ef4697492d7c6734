// An app that was there before, with users and sessions of its own: MCP stands beside its pages, and whoever is signed in to the
// app is the same person in every tool.
import { Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { createWorker, defineTool, UserError } from "tenantry";
import * as z from "zod";

interface User {
  readonly id: string;
  readonly name: string;
  readonly team: string;
}

/** A real app has a database. */
const USERS: Readonly<Record<string, User>> = {
  "token-of-ann": { id: "1", name: "Ann", team: "red" },
  "token-of-ben": { id: "2", name: "Ben", team: "red" },
  "token-of-cem": { id: "3", name: "Cem", team: "blue" },
};

function userOf(token: string | undefined): User | undefined {
  return token === undefined || !Object.hasOwn(USERS, token) ? undefined : USERS[token];
}

const whoami = defineTool({
  name: "whoami",
  description: "Who is signed in.",
  annotations: { readOnlyHint: true },
  handler: (_args, { principal, tenant }) => `${String(principal.name)} of the team ${tenant.id}`,
});

const rename = defineTool({
  name: "rename_team",
  description: "Gives the team another name, once the person has said so.",
  input: z.object({ name: z.string().min(1) }),
  visible: ({ principal }) => principal.scopes?.includes("lead") ?? false,
  handler: async ({ name }, ctx) => {
    const { action } = await ctx.elicit("sure", { message: `Rename to ${name}?`, schema: z.object({}) });
    if (action !== "accept") throw new UserError("The person said no.");
    return `The team is ${name} now.`;
  },
});

const mcp = createWorker({
  tools: [whoami, rename],
  tenants: { red: { scopes: { lead: {} } }, blue: { scopes: { lead: {} } } },
  path: "/ai",
  authenticate: (request) => {
    const user = userOf(/^Bearer (.*)$/.exec(request.headers.get("authorization") ?? "")?.[1]);
    if (!user) return Response.json({ error: "Sign in first" }, { status: 401 });
    const { id, name, team } = user;
    return { tenant: team, id, name, scopes: id === "1" ? ["lead"] : [] };
  },
});

const app = new Hono<{ Bindings: Env }>();
app.get("/", (c) => c.text(`Hello, ${userOf(getCookie(c, "session"))?.name ?? "stranger"}`));
app.post("/sign-in", async (c) => {
  const { token } = await c.req.parseBody();
  if (typeof token !== "string" || !userOf(token)) return c.text("No such user", 403);
  setCookie(c, "session", token, { httpOnly: true, secure: true, sameSite: "Lax" });
  return c.redirect("/");
});
app.all("/ai/*", (c) => mcp.fetch(c.req.raw, c.env, c.executionCtx as ExecutionContext));

export const { ContentObject, DirectoryObject, HubObject, SessionObject, StoredRuns, TenantObject } = mcp.exports;

export default app;
