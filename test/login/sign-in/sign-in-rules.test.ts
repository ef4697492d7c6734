import { expect, it } from "vitest";
import { findBrokenAuth } from "../../../src/login/login-rules.ts";
import type { LoginDocument } from "../../../src/tenants/document/tenant-document.ts";

const SECRET = "{{secret:CLIENT}}";
const GOOD: Readonly<Record<LoginDocument["via"], LoginDocument>> = {
  oidc: {
    via: "oidc",
    issuer: "https://login.acme.com/realms/one",
    clientId: "c",
    clientSecret: SECRET,
    request: "openid",
  },
  oauth2: {
    via: "oauth2",
    authorizeUrl: "https://github.com/login/oauth/authorize",
    tokenUrl: "https://github.com/login/oauth/access_token",
    userUrl: "https://api.github.com/user",
    clientId: "c",
    clientSecret: SECRET,
  },
  product: { via: "product", productUrl: "https://app.acme.internal/login", productSecret: SECRET },
  key: { via: "key", accessMinutes: 30 },
};

function brokenIn(login: object, allow = ""): string[] {
  const document = { mode: "oauth", auth: { login: login as LoginDocument }, scopes: { reading: {} } } as const;
  return findBrokenAuth(document, allow).map(({ field, rule }) => `${field} ${rule}`);
}

it.each(Object.values(GOOD))("a document may say %o", (login) => {
  expect(brokenIn(login)).toEqual([]);
});

it.each([
  ["oidc", "issuer"],
  ["oidc", "clientId"],
  ["oauth2", "authorizeUrl"],
  ["oauth2", "tokenUrl"],
  ["oauth2", "userUrl"],
  ["oauth2", "clientId"],
  ["product", "productUrl"],
  ["product", "productSecret"],
] as const)("signing in by %s needs %s", (via, name) => {
  expect(brokenIn({ ...GOOD[via], [name]: undefined })).toEqual([
    expect.stringContaining(`auth.login.${name} is required`),
  ]);
});

it.each([
  ["key", { clientId: "c" }, "clientId"],
  ["key", { scopes: { claim: "groups", values: {} } }, "scopes"],
  ["oidc", { userUrl: "https://login.acme.com/me" }, "userUrl"],
  ["product", { clientSecret: SECRET }, "clientSecret"],
  ["oauth2", { issuer: "https://login.acme.com" }, "issuer"],
] as const)("members that %s does not use are refused: %o", (via, more, name) => {
  expect(brokenIn({ ...GOOD[via], ...more })).toEqual([expect.stringContaining(`auth.login.${name} is not allowed`)]);
});

it.each([
  ["oidc", { issuer: "https://10.0.0.1" }, "lead to the public internet"],
  ["oidc", { issuer: "https://login.acme.com/?x" }, "must not have a query"],
  ["oidc", { issuer: "https://login.acme.com/.well-known/openid-configuration" }, "not the URL of the metadata"],
  ["key", { clients: ["claude.ai"] }, "not a host"],
  ["key", { clients: ["https://claude.ai/"] }, "not a host"],
  ["oidc", { clientSecret: "hunter2" }, "must be {{secret:NAME}}"],
  ["product", { productSecret: "x{{secret:CLIENT}}" }, "must be {{secret:NAME}}"],
  ["product", { productUrl: "http://app.acme.com/login" }, "must begin with https://"],
  ["product", { productUrl: "javascript:alert(1)" }, "must begin with https://"],
  ["oauth2", { tokenUrl: "https://169.254.169.254/token" }, "lead to the public internet"],
  ["oauth2", { userUrl: "https://u:p@api.github.com/user" }, "contain no user name or password"],
  ["oauth2", { authorizeUrl: "github.com" }, "must be a URL"],
  ["oidc", { scopes: { claim: "groups", values: { a: ["readin"] } } }, 'did you mean "reading"?'],
] as const)("%s with %o is refused", (via, changed, rule) => {
  expect(brokenIn({ ...GOOD[via], ...changed }).join()).toContain(rule);
});

it.each(["common", "organizations", "consumers", "{tenantid}", "%7Btenantid%7D"])(
  "Entra's address of all directories, %s, is no issuer of one",
  (name) => {
    const issuer = `https://login.microsoftonline.com/${name}/v2.0`;
    expect(brokenIn({ ...GOOD.oidc, issuer }).join()).toContain("must name one Entra directory by its id");
    const directory = "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0";
    expect(brokenIn({ ...GOOD.oidc, issuer: directory })).toEqual([]);
  },
);

it("without outbound rules, URLs are not checked yet", () => {
  const document = { mode: "oauth", auth: { login: { ...GOOD.oauth2, tokenUrl: "http://127.0.0.1/token" } } } as const;
  expect(findBrokenAuth(document, undefined)).toEqual([]);
  expect(findBrokenAuth(document, "http://127.0.0.1")).toEqual([]);
  expect(findBrokenAuth(document, "")).not.toEqual([]);
});

it("a mode that takes tokens needs issuers, or a way to sign in", () => {
  for (const auth of [undefined, {}, { issuers: [] }]) {
    expect(findBrokenAuth({ mode: "oauth", ...(auth && { auth }) }, "")).toMatchObject([
      { field: "auth", rule: expect.stringContaining('such as { login: { via: "key" } }') as string },
    ]);
  }
});
