// A page could not read the metadata at the end of an issuer's path once it sent `MCP-Protocol-Version`, as the official client does, nor
// why any metadata was refused; and `Authorization` at `/token` was allowed by a `*`, which does not stand for it (Fetch, section 3.3).

import { describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import { sendRaw } from "../support/raw-http.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "preflights");
const id = await admin.tenant({ mode: "oauth", auth: { login: { via: "key" } } });
const page = { origin: "https://app.browser-client.example" };
const NAMED = ["authorization", "content-type", "mcp-protocol-version"];

describe.each([
  `/login/${id}/.well-known/openid-configuration`,
  `/login/${id}/.well-known/oauth-authorization-server`,
  `/.well-known/oauth-authorization-server/login/${id}`,
  `/.well-known/oauth-protected-resource/mcp/${id}`,
  "/login/no-such-tenant/.well-known/openid-configuration",
  "/.well-known/oauth-protected-resource/mcp/no-such-tenant",
  "/.well-known/oauth-protected-resource",
  "/.well-known/openid-configuration/x/y/z",
  `/login/${id}/token`,
  `/login/${id}/revoke`,
  `/login/${id}/register`,
])("%s", (path) => {
  test("may be asked by a page, with the headers that clients send", async () => {
    const wanted = { "access-control-request-method": "GET", "access-control-request-headers": NAMED.join() };
    const { status, headers } = await sendRaw(origin + path, { method: "OPTIONS", headers: { ...page, ...wanted } });
    expect([status, headers["access-control-allow-origin"]]).toEqual([204, "*"]);
    expect(headers["access-control-allow-headers"]?.split(", ")).toEqual(expect.arrayContaining(NAMED));
  });

  test("may be read by it, whatever is answered", async () => {
    const { headers } = await sendRaw(origin + path, { method: "GET", headers: page });
    expect(headers["access-control-allow-origin"]).toBe("*");
  });
});
