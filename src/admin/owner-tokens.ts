// The owner tokens in the Worker's variables. A token that could be guessed is refused: its holder has access to
// every tenant.

import type { OperatorCaller } from "../deployment/operator-sign-in.ts";
import type { AdminEnv } from "./route.ts";

const MIN_CHARACTERS = 32;
/** 32 random hexadecimal digits have fewer distinct characters less than once in a million times. */
const MIN_DISTINCT_CHARACTERS = 8;

interface OwnerToken {
  readonly variable: "ADMIN_TOKEN" | "DEV_ADMIN_TOKEN";
  readonly caller: OperatorCaller;
}

export const OWNER_TOKENS: readonly OwnerToken[] = [
  { variable: "ADMIN_TOKEN", caller: { name: "root", role: "owner", tenants: null } },
  { variable: "DEV_ADMIN_TOKEN", caller: { name: "development", role: "owner", tenants: null } },
];

/** Why a token is not accepted, without quoting any of it; undefined: accepted. */
export function tokenWeakness(token: string): string | undefined {
  if (token.length < MIN_CHARACTERS) return `it has fewer than ${MIN_CHARACTERS} characters`;
  if (new Set(token).size < MIN_DISTINCT_CHARACTERS)
    return `it has fewer than ${MIN_DISTINCT_CHARACTERS} different characters`;
  return isRepeated(token) ? "it is a shorter text, repeated" : undefined;
}

/** A text that occurs within itself, shifted by less than its length, consists of equal parts. */
function isRepeated(text: string): boolean {
  return (text + text).indexOf(text, 1) < text.length;
}

export function weakTokenMessage({ variable }: OwnerToken, weakness: string): string {
  return `The Worker's ${variable} is not accepted: ${weakness}. Create one with openssl rand -base64 32`;
}

const NO_OWNER_TOKEN =
  "The Worker has no ADMIN_TOKEN. Set one of 32 or more random characters: npx wrangler secret put ADMIN_TOKEN, " +
  "or on your machine write ADMIN_TOKEN=... into .dev.vars and start wrangler dev again";

/** The message for a caller who cannot sign in because the Worker has no owner token; undefined: it has one. */
export function missingOwnerToken(env: AdminEnv): string | undefined {
  return OWNER_TOKENS.some(({ variable }) => env[variable]) ? undefined : NO_OWNER_TOKEN;
}

/** Logs a weak or missing token once in each isolate, before anyone tries to use it. */
export function createOwnerTokenWarning(onError: ((error: unknown) => void) | undefined): (env: AdminEnv) => void {
  const warned = new Set<string>();
  return (env) => {
    const missing = missingOwnerToken(env);
    if (missing !== undefined && !warned.has(missing)) {
      warned.add(missing);
      onError?.(new Error(missing));
    }
    for (const owner of OWNER_TOKENS) {
      const token = env[owner.variable];
      if (token === undefined || token === "" || warned.has(owner.variable)) continue;
      const weakness = tokenWeakness(token);
      if (weakness === undefined) continue;
      warned.add(owner.variable);
      onError?.(new Error(weakTokenMessage(owner, weakness)));
    }
  };
}
