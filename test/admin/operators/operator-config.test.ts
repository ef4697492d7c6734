import { describe, expect, it } from "vitest";
import { readOperatorConfig } from "../../../src/login/operators/operator-config.ts";

const CONFIG = {
  issuer: "https://login.example.com/realms/staff",
  clientId: "tenantry",
  claim: "groups",
  roles: { owners: "owner", support: "auditor", acme: ["acme", "acme-test"] },
};
const READ = { ...CONFIG, scopes: ["openid", "email"], roles: new Map(Object.entries(CONFIG.roles)) };

describe("OPERATORS", () => {
  it("is a table of wrangler's, or its JSON", () => {
    expect(readOperatorConfig(CONFIG, "")).toEqual(READ);
    expect(readOperatorConfig(JSON.stringify(CONFIG), "")).toEqual(READ);
  });

  it("has the audience of access tokens, and the requested scopes", () => {
    const more = { audience: "api://tenantry", scopes: ["api://tenantry/.default"] };
    expect(readOperatorConfig({ ...CONFIG, ...more }, "")).toEqual({ ...READ, ...more });
  });

  it.each<[string, unknown, string]>([
    ["no JSON", "issuer=x", "it must be a JSON object"],
    ["a list", [], "it must be a JSON object"],
    [
      "a member that nobody knows",
      { ...CONFIG, role: {} },
      "unknown field role, expected issuer, clientId, claim, audience",
    ],
    ["no claim", { ...CONFIG, claim: undefined }, "claim: must be a text"],
    ["an empty client", { ...CONFIG, clientId: "" }, "clientId: must be a text"],
    ["an issuer without TLS", { ...CONFIG, issuer: "http://login.example.com" }, "issuer: must begin with https://"],
    ["an issuer that is private", { ...CONFIG, issuer: "https://10.0.0.1" }, "issuer: must begin with https://"],
    ["an audience that is a list", { ...CONFIG, audience: ["x"] }, "audience: must be a text"],
    ["scopes in one text", { ...CONFIG, scopes: "openid email" }, "scopes: must be a list of texts"],
    ["no roles", { ...CONFIG, roles: {} }, "roles.: must be owner, operator, auditor, or a list"],
    ["a role that is none", { ...CONFIG, roles: { a: "admin" } }, "roles.a: must be owner, operator, auditor, or a"],
    ["a tenant-admin without tenants", { ...CONFIG, roles: { a: "tenant-admin" } }, "roles.a: must be owner,"],
    ["an empty list of tenants", { ...CONFIG, roles: { a: [] } }, "roles.a: must be owner,"],
    ["a pattern of tenants", { ...CONFIG, roles: { a: ["*"] } }, "roles.a: must be owner,"],
  ])("with %s is refused, with the member and its rule", (_what, raw, fault) => {
    expect(readOperatorConfig(raw, "")).toContain(fault);
  });

  it("names a server of this machine where a Worker may ask those", () => {
    const issuer = "http://127.0.0.1:9000/";
    expect(readOperatorConfig({ ...CONFIG, issuer }, "http://127.0.0.1")).toMatchObject({ issuer });
  });
});
