// Each unknown scope was compared with all known ones to suggest a name.

import { expect, test } from "vitest";
import { findBrokenAuth } from "../../../src/login/login-rules.ts";

function rulesFor(known: number, strays: number): string[] {
  const names = (count: number, end: string) => Array.from({ length: count }, (_none, at) => `scope-${at}${end}`);
  const scopes = Object.fromEntries(names(known, "a").map((name) => [name, {}]));
  const claimed = { claim: "groups", values: { staff: names(strays, "b") } };
  const issuers = [{ issuer: "https://login.example.com", scopes: claimed }];
  return findBrokenAuth({ mode: "oauth", scopes, auth: { issuers } }, "").map(({ rule }) => rule);
}

const hinted = (rules: readonly string[]) => rules.filter((rule) => rule.includes("did you mean")).length;

test("few of many unknown scopes are compared with the known ones, and a readable number is named", () => {
  const rules = rulesFor(500, 10_000);
  expect(rules).toHaveLength(100);
  expect(hinted(rules)).toBe(1);
});

test("each of a few unknown scopes gets a suggestion", () => {
  expect(hinted(rulesFor(10, 20))).toBe(20);
});
