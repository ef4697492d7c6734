import { describe, expect, test } from "vitest";
import { parseClientDocument, parseRegistration } from "../../../src/login/server/client-metadata.ts";

const ID = "https://app.example/client.json";
const REDIRECT = "https://app.example/cb";
const DOCUMENT = { client_id: ID, client_name: "App", redirect_uris: [REDIRECT] };
const PUBLIC = { name: "App", site: undefined, redirects: [REDIRECT], method: "none" };

describe("a document", () => {
  test.each([
    { what: "says no more than it has to", document: {} },
    { what: "names the method none", document: { token_endpoint_auth_method: "none" } },
    {
      what: "offers none beside what it likes better, as ChatGPT's does",
      document: {
        token_endpoint_auth_method: "private_key_jwt",
        token_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
        jwks_uri: "https://app.example/jwks.json",
      },
    },
    {
      what: "lists grants that nobody has here, as Claude's and that of VS Code do",
      document: { grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"] },
    },
    {
      what: "lists redirect URIs that nobody may have among others",
      document: { redirect_uris: ["javascript:alert(1)", REDIRECT, 7, "http://app.example/cb"] },
    },
    { what: "names a site that is no page", document: { client_uri: "javascript:alert(1)" } },
  ])("that $what is one of a public client", ({ document }) => {
    expect(parseClientDocument(ID, { ...DOCUMENT, ...document })).toEqual(PUBLIC);
  });

  test.each([
    { what: "of another URL", document: { client_id: `${ID}/` }, why: "client_id must be the URL" },
    { what: "without an id", document: { client_id: undefined }, why: "client_id must be the URL" },
    { what: "without a name", document: { client_name: undefined }, why: "client_name is missing" },
    {
      what: "without redirect URIs",
      document: { redirect_uris: undefined },
      why: "its redirect_uris are missing or not allowed",
    },
    {
      what: "with none that can be used",
      document: { redirect_uris: ["data:,"] },
      why: "its redirect_uris are missing or not allowed",
    },
    {
      what: "with a text for redirect URIs",
      document: { redirect_uris: REDIRECT },
      why: "its redirect_uris are missing or not allowed",
    },
    {
      what: "of a client with a key alone",
      document: { token_endpoint_auth_method: "private_key_jwt" },
      why: "its token_endpoint_auth_method must be none",
    },
    {
      what: "that takes none back",
      document: { token_endpoint_auth_method: "none", token_endpoint_auth_methods_supported: ["private_key_jwt"] },
      why: "must be none",
    },
    { what: "with a secret", document: { client_secret: "x" }, why: "must not contain a client_secret" },
    {
      what: "with a secret's method",
      document: { token_endpoint_auth_method: "client_secret_post" },
      why: "must be none",
    },
    { what: "without the flow", document: { grant_types: ["client_credentials"] }, why: "authorization_code" },
    { what: "without codes", document: { response_types: ["token"] }, why: "response_types must include code" },
  ])("$what is refused", ({ document, why }) => {
    const metadata = parseClientDocument(ID, { ...DOCUMENT, ...document });
    expect(metadata).toMatchObject({ kind: "fault", error: "invalid_client_metadata" });
    expect(metadata).toHaveProperty("why", expect.stringContaining(why));
  });
});

describe("a registration", () => {
  test.each(["none", "client_secret_basic", "client_secret_post"])("may ask for the method %s", (method) => {
    const document = { redirect_uris: [REDIRECT], token_endpoint_auth_method: method };
    expect(parseRegistration(document)).toEqual({ name: "", site: undefined, redirects: [REDIRECT], method });
  });

  test("has a secret where it does not say", () => {
    expect(parseRegistration({ redirect_uris: [REDIRECT] })).toHaveProperty("method", "client_secret_basic");
  });

  test("keeps no more of a name than anybody reads", () => {
    const document = { redirect_uris: [REDIRECT], client_name: "a".repeat(5000), client_uri: "https://app.example/" };
    expect(parseRegistration(document)).toMatchObject({ name: "a".repeat(100), site: "https://app.example/" });
  });

  test.each([
    { redirect_uris: undefined },
    { redirect_uris: [] },
    { redirect_uris: REDIRECT },
    { redirect_uris: [REDIRECT, "javascript:alert(1)"] },
    { redirect_uris: [REDIRECT, 7] },
    { redirect_uris: Array.from({ length: 51 }, (_none, at) => `${REDIRECT}/${at}`) },
  ])("with a redirect URI that nobody may have is refused whole: %j", (document) => {
    expect(parseRegistration(document)).toMatchObject({ kind: "fault", error: "invalid_redirect_uri" });
  });

  test.each([
    { token_endpoint_auth_method: "private_key_jwt" },
    { token_endpoint_auth_method: "tls_client_auth" },
    { token_endpoint_auth_method: null },
    { grant_types: ["client_credentials"] },
    { grant_types: "authorization_code" },
    { response_types: ["token"] },
  ])("of another kind of client is refused: %j", (document) => {
    expect(parseRegistration({ redirect_uris: [REDIRECT], ...document })).toMatchObject({
      kind: "fault",
      error: "invalid_client_metadata",
    });
  });
});
