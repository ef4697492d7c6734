// `/mcp/st/` and `/mcp/st?team=1` are served, but their metadata named `/mcp/st`, which strict clients refuse (RFC 9728, section 3.3),
// and a client that named the resource as it was given was refused at the authorization server, or with its token.

import { createHash, randomUUID } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import { startAuthorizationServer } from "../support/authorization-server.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { listAs, startLoginWorker } from "../support/login-tenant.ts";
import type { Json } from "../support/mcp-client.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "spelled");
const server = await startAuthorizationServer({ ends: afterAll });
const auth = { login: { via: "key" }, issuers: [{ issuer: server.issuer }] };
const id = await admin.tenant({ mode: "oauth", auth, profiles: { small: {} } });

describe.each(["", "/", "?team=1", "/?team=1&x=%22", "/small/?team=1"])("the endpoint with %s behind it", (more) => {
  const url = `${origin}/mcp/${id}${more}`;

  test("is named so by its challenge and its metadata", async () => {
    const refused = await listAs(url, "2025-11-25");
    const [, metadata] = /resource_metadata="([^"]+)"/.exec(refused.headers["www-authenticate"] ?? "") ?? [];
    expect(metadata).toBe(`${origin}/.well-known/oauth-protected-resource/mcp/${id}${more}`);
    expect(await (await fetch(metadata ?? "")).json()).toMatchObject({ resource: url });
  });

  test("takes a token that names it so", async () => {
    expect((await listAs(url, "2025-11-25", await server.token({ aud: url }))).status).toBe(200);
    const other = await server.token({ aud: `${origin}/mcp/another${more}` });
    expect((await listAs(url, "2025-11-25", other)).status).toBe(401);
  });

  test("is known to the tenant's authorization server", async () => {
    const issuer = `${origin}/login/${id}`;
    const redirect = "http://127.0.0.1:4567/callback";
    const client = { client_name: "x", redirect_uris: [redirect], token_endpoint_auth_method: "none" };
    const json = { "content-type": "application/json" };
    const made = await fetch(`${issuer}/register`, { method: "POST", headers: json, body: JSON.stringify(client) });
    const query = new URLSearchParams({
      client_id: String(((await made.json()) as Json)["client_id"]),
      redirect_uri: redirect,
      response_type: "code",
      code_challenge: createHash("sha256").update(randomUUID()).digest("base64url"),
      code_challenge_method: "S256",
      resource: url,
    });
    const answered = await fetch(`${issuer}/authorize?${query}`, { redirect: "manual" });
    expect(`${answered.headers.get("location")} ${await answered.text()}`).not.toContain("invalid_target");
    expect(answered.status).toBeLessThan(400);
  });
});

test("a backslash ends no header, and the session of a message is none of its endpoint's name", async () => {
  const challenge = async (more: string) =>
    (await listAs(`${origin}/mcp/${id}${more}`, "2025-11-25")).headers["www-authenticate"];
  expect(await challenge("?a=\\")).toMatch(/\?a=%5C"$/);
  expect(await challenge("?sessionId=x")).toMatch(new RegExp(`/mcp/${id}"$`));
});
