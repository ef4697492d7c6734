// A product with users and sessions of its own, as small as one can be: whoever knows a user's password is that user. Its
// people sign in here, and reach its tools at a tenant of tenantry by `mcpLogin`.

import { Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { mcpLogin, type McpLogin, type ProductUser } from "./mcp-login.ts";

const USERS: Readonly<Record<string, ProductUser & { readonly password: string }>> = {
  alice: { id: "17", name: "Alice", email: "alice@acme.example", groups: ["staff"], password: "correct horse" },
  bob: { id: "18", name: "Bob", email: "bob@acme.example", groups: ["guests"], password: "battery staple" },
};

/** By the text of a cookie that nobody can guess. A real product keeps them elsewhere, and ends them. */
const sessions = new Map<string, ProductUser>();

export function product({ logins, secret }: Omit<McpLogin, "userOf">): Hono {
  const app = new Hono();
  app.get("/sign-in", (c) => {
    const next = encodeURIComponent(c.req.query("next") ?? "/");
    return c.html(`<form method="post" action="${new URL(c.req.url).origin}/sign-in?next=${next}">
      <input type="text" name="user"> <input type="password" name="password"> <button>Sign in</button></form>`);
  });
  app.post("/sign-in", async (c) => {
    const { user, password } = await c.req.parseBody();
    const found = typeof user === "string" && Object.hasOwn(USERS, user) ? USERS[user] : undefined;
    if (found === undefined || found.password !== password) return c.text("Wrong user name or password", 403);
    const session = crypto.randomUUID();
    sessions.set(session, found);
    setCookie(c, "product-session", session, { httpOnly: true, sameSite: "Lax", path: "/" });
    const { pathname, search } = new URL(c.req.query("next") ?? "/", c.req.url);
    return c.redirect(pathname + search);
  });
  app.route("/", mcpLogin({ logins, secret, userOf: (c) => sessions.get(getCookie(c, "product-session") ?? "") }));
  return app;
}
