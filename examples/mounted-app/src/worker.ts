// An app that was there before, with users and sessions of its own: MCP stands beside its pages, and whoever is signed in to the
// app is the same person in every tool.

import { Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { createWorker } from "tenantry";
import { renameTeam, whoami } from "./team-tools.ts";
import { authenticate, userOf } from "./users.ts";

const mcp = createWorker({
  name: "teams",
  tools: [whoami, renameTeam],
  // Mode `key`: a request without a user needs an API key.
  tenants: { red: { title: "Team red", mode: "key" }, blue: { title: "Team blue", mode: "key" } },
  path: "/ai",
  authenticate,
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

export * from "tenantry/objects";

export default app;
