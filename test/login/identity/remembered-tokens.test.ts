// Other tenants share the isolate's memory.

import { expect, test } from "vitest";
import type { OAuthPrincipal } from "../../../src/auth/principal.ts";
import { cacheToken } from "../../../src/login/bearer-auth.ts";

const person = {} as OAuthPrincipal;

function remembering(length: number, tokens: number): Map<string, OAuthPrincipal> {
  const known = new Map<string, OAuthPrincipal>();
  for (let at = 0; at < tokens; at += 1) cacheToken(known, String(at).padStart(length, "0"), person);
  return known;
}

test("a thousand tokens of a usual length are remembered, the newest ones", () => {
  const known = remembering(1500, 1100);
  expect([known.size, known.has("99".padStart(1500, "0")), known.has("1099".padStart(1500, "0"))]).toEqual([
    1000,
    false,
    true,
  ]);
});

test("fewer long tokens are remembered, so that their sum has a bound", () => {
  const known = remembering(16_000, 200);
  expect(known.size).toBe(125);
  expect(known.has("199".padStart(16_000, "0"))).toBe(true);
});
