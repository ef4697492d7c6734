// The table of what login lets somebody send: each bound by the file that has it, with its number.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const SOURCE = join(import.meta.dirname, "../../src");
/** What a request meets: test/e2e/login-bounds.test.ts has a case of each, on both sides of the number. */
export const REQUESTS = {
  "http/login-feature MOST_BYTES": 65_536,
  "login/asked-beyond MOST_MESSAGES": 100,
  "login/oauth-scopes MOST_FIRST": 50,
  "login/server/authorization-server MOST_STEPS": 1200,
  "login/server/find-client MOST_DOCUMENT_BYTES": 5120,
  "login/server/client-metadata LONGEST_NAME": 100,
  "login/server/client-metadata MOST_REDIRECTS": 50,
  "login/server/find-client LONGEST_ID": 2048,
  "login/server/find-client MOST_A_MINUTE": 30,
  "login/server/client-metadata LONGEST_REDIRECT": 2000,
  "login/server/register LONGEST": 8192,
  "login/server/transaction MOST_BEGUN": 4,
  "login/server/transaction MOST_SEALED": 3900,
} as const;

export type AskedBound = keyof typeof REQUESTS;

export interface Step {
  readonly method: string;
  /** Below the issuer; `/account` stands beside it. */
  readonly path: string;
}

/** The routes of the authorization server. */
export function stepsInSource(): readonly Step[] {
  const text = readFileSync(join(SOURCE, "login/server/authorization-server.ts"), "utf8");
  const routes = text.matchAll(/^ {2}app\.(get|post)\("(\/[\w-]+)"/gm);
  return [...routes].map(([, method = "", path = ""]) => ({ method: method.toUpperCase(), path }));
}
