import { Hono, type Context } from "hono";
import { SignJWT } from "jose";

export interface ProductUser {
  /** Never given to another person, and never changed. */
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly groups: readonly string[];
}

export interface McpLogin {
  /** The logins that people may be sent back to, such as https://mcp.example.com/login/acme. */
  readonly logins: readonly string[];
  /** The text that the tenant has as a secret, of 32 characters or more: `openssl rand -hex 32`. */
  readonly secret: string;
  /** Who is signed in to the product in this browser; undefined: nobody. */
  readonly userOf: (c: Context) => ProductUser | undefined;
}

export function mcpLogin({ logins, secret, userOf }: McpLogin): Hono {
  return new Hono().get("/mcp-login", async (c) => {
    const { issuer = "", request = "", prompt } = c.req.query();
    if (!logins.includes(issuer)) return c.text("This login is not known here", 400);
    // `login`: the person pressed "Not you?", so the session in this browser is somebody else's.
    const user = prompt === "login" ? undefined : userOf(c);
    const next = `/mcp-login?${new URLSearchParams({ issuer, request })}`;
    if (!user) return c.redirect(`/sign-in?next=${encodeURIComponent(next)}`);
    const { id, name, email, groups } = user;
    const token = await new SignJWT({ name, email, groups, nonce: request })
      .setProtectedHeader({ alg: "HS256" })
      .setSubject(id)
      .setAudience(issuer)
      .setIssuedAt()
      .setExpirationTime("1m")
      .sign(new TextEncoder().encode(secret));
    return c.redirect(`${issuer}/callback?${new URLSearchParams({ state: request, token })}`);
  });
}
