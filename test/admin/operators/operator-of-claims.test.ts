import { describe, expect, it } from "vitest";
import { readOperatorConfig, type OperatorConfig } from "../../../src/login/operators/operator-config.ts";
import { operatorFromClaims } from "../../../src/login/operators/operator-from-claims.ts";

const NOW = Date.UTC(2026, 10, 22);
const ISSUER = "https://login.example.com";

function operatorOf(claims: object, claim: string, roles: object) {
  const config = readOperatorConfig({ issuer: ISSUER, clientId: "x", claim, roles }, "") as OperatorConfig;
  const always = { sub: "1", iat: NOW / 1000, exp: NOW / 1000 + 3600 };
  const found = operatorFromClaims({ ...always, ...claims }, config, NOW);
  return found.kind === "operator" ? found.operator : found;
}

describe("an address", () => {
  const roles = { "alice@example.com": "owner" };

  it("gives a role, unless its server calls it unverified", () => {
    const email = "alice@example.com";
    for (const isVerified of [true, undefined]) {
      const claims = { email, email_verified: isVerified };
      expect(operatorOf(claims, "email", roles)).toMatchObject({ role: "owner" });
    }
    const refused = { kind: "refused", why: "its claim email has no value with a role in OPERATORS" };
    for (const isVerified of [false, "false"]) {
      expect(operatorOf({ email, email_verified: isVerified }, "email", roles)).toEqual(refused);
    }
  });
});

describe("several values", () => {
  const roles = { read: "auditor", work: "operator", all: "owner", a: ["acme", "shared"], b: ["beta", "shared"] };
  const of = (...groups: string[]) => operatorOf({ groups }, "groups", roles);

  it("give the widest role, in any order", () => {
    expect(of("read", "work")).toMatchObject({ role: "operator", tenants: null });
    expect(of("work", "read", "all", "a")).toMatchObject({ role: "owner", tenants: null });
    expect(of("a", "read")).toMatchObject({ role: "auditor", tenants: null });
  });

  it("give a tenant-admin the tenants of all of them, each once", () => {
    expect(of("a", "b", "a")).toMatchObject({ role: "tenant-admin", tenants: ["acme", "shared", "beta"] });
  });

  it("that name a tenant like a role do not give that role", () => {
    const named = { mine: ["owner", "operator"] };
    const found = operatorOf({ groups: ["mine"] }, "groups", named);
    expect(found).toMatchObject({ role: "tenant-admin", tenants: ["owner", "operator"] });
  });
});

it("a day is the longest that a token may live, by when it was made or by now, whichever is earlier", () => {
  const at = NOW / 1000;
  const roles = { a: "owner" };
  const lives = (iat: number | undefined, exp: number) => {
    const found = operatorOf({ groups: "a", iat, exp }, "groups", roles);
    return "kind" in found ? found : found.role;
  };
  const refused = { kind: "refused", why: "its lifetime is longer than a day" };
  expect(lives(at, at + 86_400)).toBe("owner");
  expect(lives(undefined, at + 86_400)).toBe("owner");
  expect(lives(at, at + 86_431)).toEqual(refused);
  expect(lives(undefined, at + 86_431)).toEqual(refused);
  expect(lives(at - 86_400, at + 60)).toEqual(refused);
  expect(lives(at + 86_400, at + 90_000)).toEqual(refused);
});

it("an operator's name has at most a hundred characters of what its token calls them", () => {
  const named = operatorOf({ groups: "a", name: "n".repeat(150) }, "groups", { a: "owner" });
  expect(named).toMatchObject({ name: `owner ${ISSUER} 1 (${"n".repeat(100)})` });
});
