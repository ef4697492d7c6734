// Anybody can write an address that its authorization server calls unverified.

import { expect, test } from "vitest";
import { principalFromClaims } from "../../../src/login/claims.ts";

const issuer = {
  issuer: "https://login.example.com",
  scopes: { claim: "email", values: { "boss@example.com": ["everything"] } },
  claims: ["email", "team"],
};
const claims = { sub: "1", exp: 2_000_000_000, email: "boss@example.com", team: "a" };

test.each([false, "false"])("an address with email_verified %j gives no scope, and is shown to no handler", (said) => {
  const person = principalFromClaims(issuer, { ...claims, email_verified: said }, ["reading"]);
  expect([person.scopes, person.email, person.claims]).toEqual([["reading"], undefined, { team: "a" }]);
});

test.each([true, "true", undefined])(
  "an address with email_verified %j gives its scope, and is shown to handlers",
  (said) => {
    const person = principalFromClaims(issuer, { ...claims, email_verified: said }, []);
    const { email, team } = claims;
    expect([person.scopes, person.email, person.claims]).toEqual([["everything"], email, { email, team }]);
  },
);
