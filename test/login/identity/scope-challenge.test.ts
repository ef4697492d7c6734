// Other tenants share the isolate's memory.

import { expect, test } from "vitest";
import type { AuthorizedContext } from "../../../src/deployment/deployment.ts";
import { getScopeChallenge } from "../../../src/login/scope-challenge.ts";

test("at most a hundred views are cached for scopes that would help", () => {
  const names = Array.from({ length: 150 }, (_none, at) => `s${at}`);
  const issuer = "https://login.example.com";
  const values = Object.fromEntries(names.map((name) => [name, [name]]));
  const scopes = Object.fromEntries(names.map((name) => [name, { tools: [`tool_${name}`] }]));
  const derived = new Map<unknown, unknown>();
  const context = {
    document: { mode: "oauth", scopes, auth: { issuers: [{ issuer, scopes: { claim: "scope", values } }] } },
    principal: { kind: "oauth", issuer, granted: [], scopes: [] },
    view: { sources: [], tool: () => undefined },
    cachedPolicy: { memo: derived, policy: { suspensions: [], deprecatedNames: [] }, version: 1 },
    context: { target: { tenantResult: { tools: [] }, profile: null }, deployment: { path: "", catalog: {} } },
  } as unknown as AuthorizedContext;
  expect(getScopeChallenge(context, { method: "tools/call", params: { name: "nothing" } })).toBeUndefined();
  const [views] = derived.values() as unknown as readonly [ReadonlyMap<string, unknown>];
  expect(views.size).toBe(50);
});
