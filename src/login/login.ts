// Login as a feature: callers with tokens of authorization servers, beside keys. A Worker without it has none of this
// in its bundle.

import { insecureTransportError } from "../auth/origin.ts";
import type { BuiltInFeature } from "../deployment/deployment.ts";
import { createLeasedSections } from "../deployment/leased-sections.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import { authenticateBearer } from "./bearer-auth.ts";
import { createIdentity } from "./identity/identity.ts";
import { getScopeChallenge } from "./scope-challenge.ts";
import { refreshIssuers } from "./issuers/issuer-keys.ts";
import { outboundAllowOf } from "../outbound/guarded-fetch.ts";
import { findBrokenAuth } from "./login-rules.ts";
import { loginStore } from "./server/login-store.ts";
import { operatorSignIn } from "./operators/operator-auth.ts";

/** Everything but the endpoints, which login-feature.ts adds. */
export function loginFeature(): BuiltInFeature {
  return {
    name: "login",
    // Keys are loaded when a token needs them: a call with an API key does not wait for them.
    sections: createLeasedSections(() => false),
    checkDocument: (document, env) => findBrokenAuth(document, env && outboundAllowOf(env)),
    refresh: refreshIssuers,
    resolvePrincipal: authenticateBearer,
    logins: (stub) => createRpcClient(stub, loginStore),
    identity: createIdentity,
    operators: operatorSignIn,
    requireStepUp: getScopeChallenge,
    transportError: insecureTransportError,
  };
}
