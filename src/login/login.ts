// Owns login as a feature: callers whom authorization servers name, beside keys. A Worker without it has none of this in
// its bundle.

import { exposedBy } from "../auth/origin.ts";
import type { BuiltInFeature } from "../deployment/deployment.ts";
import { leasedSections } from "../deployment/leased-sections.ts";
import { remote } from "../tenants/authority/tables.ts";
import { tokenCaller } from "./admit-token.ts";
import { identityOf } from "./identity/identity.ts";
import { askedBeyond } from "./asked-beyond.ts";
import { tendIssuers } from "./issuers/issuer-keys.ts";
import { allowedBy } from "../outbound/outbound-door.ts";
import { brokenAuth } from "./login-rules.ts";
import { loginTables } from "./server/login-tables.ts";
import { operatorSignIn } from "./operators/sign-in.ts";

/** All of it but its endpoints, which are the business of who answers HTTP. */
export function loginFeature(): BuiltInFeature {
  return {
    name: "login",
    // Keys are loaded when a token needs them: a call by an API key does not wait for them.
    sections: leasedSections(() => false),
    checkDocument: (document, env) => brokenAuth(document, env && allowedBy(env)),
    tend: tendIssuers,
    who: tokenCaller,
    logins: (stub) => remote(stub, loginTables),
    identity: identityOf,
    operators: operatorSignIn,
    asks: askedBeyond,
    exposed: exposedBy,
  };
}
