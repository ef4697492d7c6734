// Owns signing in to the admin API with tokens of an authorization server: whose they are, and whether they are good.
// Refuses to say what the Worker's variable says beside what a program needs to get one.

import { claimedIssuer, verifyJwt } from "../../auth/jwt.ts";
import type { OperatorSignIn, OperatorGround } from "../../deployment/operator-sign-in.ts";
import { allowedBy } from "../../outbound/outbound-door.ts";
import { readOperatorConfig, type OperatorConfig } from "./operator-config.ts";
import { operatorKeys } from "./operator-keys.ts";
import { operatorOfClaims, refusedSignIn } from "./operator-of-claims.ts";

const keysOf = operatorKeys();
/** What was last read of the variable, and of which text. */
let read: { readonly from: string; readonly config: OperatorConfig | undefined } | undefined;

export const operatorSignIn: OperatorSignIn = {
  client: (ground) => {
    const config = configOf(ground);
    if (!config) return undefined;
    const { claim: _, roles: __, ...client } = config;
    return client;
  },
  operatorOf: async (token, ground) => {
    const config = configOf(ground);
    if (!config) return refusedSignIn("the Worker's OPERATORS names no authorization server that can be used");
    const { issuer, clientId, audience = clientId } = config;
    if (claimedIssuer(token) !== issuer) return refusedSignIn("it has another issuer");
    const attempt = async (newer: boolean) => {
      const keys = await keysOf(issuer, ground, newer);
      return keys && verifyJwt(token, { issuer, keys, audience: [audience] }, Date.now());
    };
    let verified = await attempt(false);
    if (verified?.kind === "unknownKey") verified = await attempt(true);
    if (!verified) return { kind: "unavailable" };
    if (verified.kind === "verified") return operatorOfClaims(verified.claims, config, Date.now());
    return refusedSignIn(verified.kind === "refused" ? verified.why : "no key of its issuer signed it");
  },
};

interface OperatorVars {
  /** What `OperatorConfig` says, in JSON where it is a text. */
  readonly OPERATORS?: unknown;
}

/** Who wrote a mistake finds it in the log of each isolate, once. */
function configOf({ env, onError }: OperatorGround): OperatorConfig | undefined {
  const { OPERATORS: raw = "" } = env as OperatorVars;
  if (raw === "") return undefined;
  const from = JSON.stringify(raw);
  if (read?.from === from) return read.config;
  const config = readOperatorConfig(raw, allowedBy(env));
  read = { from, config: typeof config === "string" ? undefined : config };
  if (typeof config === "string") onError(new Error(`The Worker's OPERATORS is not accepted: ${config}`));
  return read.config;
}
