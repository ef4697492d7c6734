// Sign-in to the admin API with tokens of an authorization server: verifies them and finds the operator. Of the
// variable OPERATORS, only what a program needs to get a token is public.

import { peekIssuer, verifyJwt } from "../../auth/jwt.ts";
import type { OperatorSignIn, OperatorContext } from "../../deployment/operator-sign-in.ts";
import { outboundAllowOf } from "../../outbound/guarded-fetch.ts";
import { readOperatorConfig, type OperatorConfig } from "./operator-config.ts";
import { createOperatorKeys } from "./operator-keys.ts";
import { operatorFromClaims, rejectSignIn } from "./operator-from-claims.ts";

const getKeys = createOperatorKeys();
/** The last value of the variable, and the config parsed from it. */
let cachedConfig: { readonly from: string; readonly config: OperatorConfig | undefined } | undefined;

export const operatorSignIn: OperatorSignIn = {
  client: (context) => {
    const config = configOf(context);
    if (!config) return undefined;
    const { claim: _, roles: __, ...client } = config;
    return client;
  },
  resolveOperator: async (token, context) => {
    const config = configOf(context);
    if (!config) return rejectSignIn("the Worker's OPERATORS is missing or invalid");
    const { issuer, clientId, audience = clientId } = config;
    if (peekIssuer(token) !== issuer) return rejectSignIn("it has another issuer");
    const attempt = async (newer: boolean) => {
      const keys = await getKeys(issuer, context, newer);
      return keys && verifyJwt(token, { issuer, keys, audience: [audience] }, Date.now());
    };
    let verified = await attempt(false);
    if (verified?.kind === "unknownKey") verified = await attempt(true);
    if (!verified) return { kind: "unavailable" };
    if (verified.kind === "verified") return operatorFromClaims(verified.claims, config, Date.now());
    return rejectSignIn(verified.kind === "refused" ? verified.why : "its signature matches no key of its issuer");
  },
};

interface OperatorVars {
  /** An `OperatorConfig`, or its JSON as a text. */
  readonly OPERATORS?: unknown;
}

/** An invalid value is logged once per isolate. */
function configOf({ env, onError }: OperatorContext): OperatorConfig | undefined {
  const { OPERATORS: value = "" } = env as OperatorVars;
  if (value === "") return undefined;
  const from = JSON.stringify(value);
  if (cachedConfig?.from === from) return cachedConfig.config;
  const config = readOperatorConfig(value, outboundAllowOf(env));
  cachedConfig = { from, config: typeof config === "string" ? undefined : config };
  if (typeof config === "string") onError(new Error(`The Worker's OPERATORS is invalid: ${config}`));
  return cachedConfig.config;
}
