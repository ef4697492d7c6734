import { describe, expect, test } from "vitest";
import { hashToken } from "../../../src/auth/api-key.ts";
import { oauthErrorResponse } from "../../../src/login/server/oauth-responses.ts";
import { handleRegister } from "../../../src/login/server/register.ts";
import type { LoginContext } from "../../../src/login/login-context.ts";
import type { LoginDocument } from "../../../src/tenants/document/tenant-document.ts";
import { KNOWN_CLIENTS } from "../../support/known-clients.ts";
import { fakeClientLookup, type FakeClientLookup } from "./fake-client-lookup.ts";

const REDIRECT = "https://app.example/cb";

async function registering(
  clientLookup: FakeClientLookup,
  body: unknown,
  login: Partial<LoginDocument> = {},
  address = "a",
) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const context = {
    tenantContext: clientLookup.tend,
    clientAddress: address,
    body: text,
    login: { via: "key", ...login },
  } as LoginContext;
  const response = await handleRegister(context).catch((error: unknown) => oauthErrorResponse(context, error));
  return { response, status: response.status, said: (await response.json()) as Record<string, unknown> };
}

const registered = KNOWN_CLIENTS.filter(({ registration }) => registration);

test.each(registered)("$name gets an id, and its own metadata back", async ({ registration }) => {
  const clientLookup = fakeClientLookup();
  const before = Math.floor(Date.now() / 1000);
  const { response, status, said } = await registering(clientLookup, registration);
  expect([status, response.headers.get("cache-control")]).toEqual([201, "no-store"]);
  const { client_id: id, client_id_issued_at: issued, ...metadata } = said;
  expect(issued).toBeGreaterThanOrEqual(before);
  const { client_name: name, client_uri: site, redirect_uris: redirects } = registration ?? {};
  expect(metadata).toEqual({
    client_name: name,
    ...(site !== undefined && { client_uri: site }),
    redirect_uris: redirects,
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  });
  const { client } = clientLookup.stored.get(String(id)) ?? {};
  expect(client).toMatchObject({ id, kind: "registered", name, redirects, method: "none", secretHash: null });
});

test.each(["client_secret_basic", "client_secret_post", undefined])(
  "a client with the method %s gets a secret once, of which the hash is stored",
  async (method) => {
    const clientLookup = fakeClientLookup();
    const { said } = await registering(clientLookup, { redirect_uris: [REDIRECT], token_endpoint_auth_method: method });
    const { client_id: id, client_secret: secret } = said as Record<string, string>;
    expect(said).toMatchObject({
      client_secret_expires_at: 0,
      token_endpoint_auth_method: method ?? "client_secret_basic",
    });
    expect(secret).toMatch(/^[\w-]{43}$/);
    const { client } = clientLookup.stored.get(id ?? "") ?? {};
    expect(client?.secretHash).toBe(await hashToken(secret ?? ""));
    expect(JSON.stringify(client)).not.toContain(secret);
  },
);

test("two registrations of the same are two clients", async () => {
  const clientLookup = fakeClientLookup();
  const [one, two] = [
    await registering(clientLookup, registered[0]?.registration),
    await registering(clientLookup, registered[0]?.registration),
  ];
  expect(one.said["client_id"]).not.toBe(two.said["client_id"]);
});

describe("a registration is refused", () => {
  test.each([
    { what: "an empty body", body: "", error: "invalid_client_metadata" },
    { what: "no JSON", body: "{", error: "invalid_client_metadata" },
    { what: "no object", body: "[]", error: "invalid_client_metadata" },
    { what: "null", body: "null", error: "invalid_client_metadata" },
    {
      what: "more than a client has to say",
      body: JSON.stringify({ redirect_uris: [REDIRECT], a: "a".repeat(9000) }),
      error: "invalid_client_metadata",
    },
    {
      what: "a redirect URI that runs",
      body: JSON.stringify({ redirect_uris: ["javascript:alert(1)"] }),
      error: "invalid_redirect_uri",
    },
    { what: "no redirect URIs", body: "{}", error: "invalid_redirect_uri" },
    {
      what: "a client that signs",
      body: JSON.stringify({ redirect_uris: [REDIRECT], token_endpoint_auth_method: "private_key_jwt" }),
      error: "invalid_client_metadata",
    },
  ])("with $what", async ({ body, error }) => {
    const clientLookup = fakeClientLookup();
    const { status, said } = await registering(clientLookup, body);
    expect([status, said["error"], typeof said["error_description"]]).toEqual([400, error, "string"]);
    expect(clientLookup.calls).toEqual([]);
  });

  test("where operators list the clients that may be used", async () => {
    const { status, said } = await registering(fakeClientLookup(), { redirect_uris: [REDIRECT] }, { clients: ["x"] });
    expect([status, said["error"]]).toEqual([403, "access_denied"]);
  });

  test("for now where there is no room", async () => {
    const { response, status } = await registering(fakeClientLookup({ isFull: true }), { redirect_uris: [REDIRECT] });
    expect([status, response.headers.get("retry-after")]).toEqual([503, "3600"]);
  });

  test("for the thirty-first of an address in a minute, and for no other address", async () => {
    const clientLookup = fakeClientLookup();
    const statuses: number[] = [];
    for (let at = 0; at < 40; at += 1) {
      const { response } = await registering(clientLookup, { redirect_uris: [REDIRECT] }, {}, "flood");
      statuses.push(response.status);
      if (response.status === 429) expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(statuses.filter((status) => status === 201)).toHaveLength(30);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect(clientLookup.stored.size).toBe(30);
    expect((await registering(clientLookup, { redirect_uris: [REDIRECT] }, {}, "other")).status).toBe(201);
  });
});
