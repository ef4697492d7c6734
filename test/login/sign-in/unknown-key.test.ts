// Anybody can make a token with an unknown key, and the tenant's object grants everybody's leases.

import { generateKeyPair, SignJWT } from "jose";
import { expect, it, vi } from "vitest";
import type { RefreshContext } from "../../../src/deployment/deployment.ts";
import { getIssuerEndpoints, verifyWithIssuer } from "../../../src/login/issuers/issuer-keys.ts";
import { CLIENT, ISSUER, providerFor, contextWith } from "./sign-in.ts";

it("a flood of tokens with unknown keys asks the tenant's object about once a second, and never for known keys", async () => {
  const { issuer } = await providerFor(ISSUER);
  const { context } = await contextWith({ via: "oidc", issuer, clientId: CLIENT });
  let requestCount = 0;
  const tenantContext: RefreshContext = {
    ...context.tenantContext,
    stub: () => {
      requestCount += 1;
      return context.tenantContext.stub();
    },
  };
  expect(await getIssuerEndpoints(tenantContext, issuer)).toBeDefined();
  const { privateKey } = await generateKeyPair("ES256");
  const flood = async () => {
    requestCount = 0;
    for (let at = 0; at < 50; at += 1) {
      const made = new SignJWT({ sub: "a" }).setProtectedHeader({ alg: "ES256", kid: `none-${at}` });
      const token = await made.setIssuer(issuer).setAudience("a").setExpirationTime("1h").sign(privateKey);
      expect(await verifyWithIssuer(tenantContext, token, { issuer, audience: ["a"] })).toEqual({ kind: "unknownKey" });
    }
    return requestCount;
  };
  expect(await flood()).toBeLessThan(20);
  vi.setSystemTime(Date.now() + 2000);
  const later = await flood().finally(() => vi.useRealTimers());
  expect([later > 0, later < 20]).toEqual([true, true]);
});
