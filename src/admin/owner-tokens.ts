// Owns the owners' tokens that a Worker is told by its variables. Refuses one that could be guessed: whoever has it has
// every tenant.

import type { OperatorCaller } from "../deployment/operator-sign-in.ts";
import type { AdminEnv } from "./route.ts";

const MIN_CHARACTERS = 32;
/** Of 32 random hexadecimal digits, fewer are different less than once in a million times. */
const MIN_DISTINCT_CHARACTERS = 8;

interface OwnerToken {
  readonly variable: "ADMIN_TOKEN" | "DEV_ADMIN_TOKEN";
  readonly caller: OperatorCaller;
}

export const OWNER_TOKENS: readonly OwnerToken[] = [
  { variable: "ADMIN_TOKEN", caller: { name: "root", role: "owner", tenants: null } },
  { variable: "DEV_ADMIN_TOKEN", caller: { name: "development", role: "owner", tenants: null } },
];

/** Why a token is not accepted, without a word of it; undefined: it is. */
export function tokenWeakness(token: string): string | undefined {
  if (token.length < MIN_CHARACTERS) return `it has fewer than ${MIN_CHARACTERS} characters`;
  if (new Set(token).size < MIN_DISTINCT_CHARACTERS)
    return `it has fewer than ${MIN_DISTINCT_CHARACTERS} different characters`;
  return isRepeated(token) ? "it is a shorter text, repeated" : undefined;
}

/** A text that is found in itself, moved by less than its length, is made of equal parts. */
function isRepeated(text: string): boolean {
  return (text + text).indexOf(text, 1) < text.length;
}

export function weakTokenMessage({ variable }: OwnerToken, weakness: string): string {
  return `The Worker's ${variable} is not accepted: ${weakness}. Make one with openssl rand -base64 32`;
}

const NO_OWNER_TOKEN =
  "The Worker has no ADMIN_TOKEN. Set one of 32 random characters or more: npx wrangler secret put ADMIN_TOKEN, " +
  "on your machine a line ADMIN_TOKEN=... in .dev.vars, and start wrangler dev again";

/** What is said to whoever cannot sign in because nobody set an owner's token; undefined: somebody did. */
export function missingOwnerToken(env: AdminEnv): string | undefined {
  return OWNER_TOKENS.some(({ variable }) => env[variable]) ? undefined : NO_OWNER_TOKEN;
}

/** Who set a weak token, or none, finds it in the log of each isolate, once and before they try it. */
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
