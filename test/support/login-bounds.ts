// Owns the table of what login lets somebody send, or leave with us: each bound by the file that has it, with its number and
// where it is met. test/login-bounds.test.ts holds it against src, so a bound without a row, or a row without a test, fails.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const SOURCE = join(import.meta.dirname, "../../src");
/** Times are no bounds of what is sent: `_MS` and `_S` are left out. */
const BOUND = /^(?:export )?const ((?:MOST|LONGEST)(?:_(?!MS\b|S\b)[A-Z]+)*) = ([\d_ *]+);$/gm;

/** What a request meets: test/e2e/login-bounds.test.ts has a case of each, on both sides of the number. */
export const ASKED = {
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

export type AskedBound = keyof typeof ASKED;

export interface KeptBound {
  readonly most: number;
  /** Of a folder below `test/`. */
  readonly file: string;
  /** Of the test that fails where the bound is not there. */
  readonly title: string;
}

const kept = (most: number, file: string, title: string): KeptBound => ({ most, file, title });
const ROWS = "login/server/login-tables";
const FULL = "login/server/bounds-of-rows";
const PROVIDERS = "login/sign-in/bounds-of-providers";

const STRAYS = "login/sign-in/scopes-that-are-none";
const FEW_OF_MANY =
  "few of many scopes that are none are compared with many that there are, and no more than can be read are named";
/** What an object or an isolate keeps, and what is read of other servers: met in the tests of those. */
export const KEPT: Readonly<Record<string, KeptBound>> = {
  "login/admit-token MOST_CHARACTERS": kept(
    2_000_000,
    "login/identity/remembered-tokens",
    "of long ones fewer are, so that all of them together have a bound",
  ),
  "login/admit-token MOST_KEPT": kept(
    1000,
    "login/identity/remembered-tokens",
    "a thousand tokens of a usual length are remembered, the newest ones",
  ),
  "login/asked-beyond MOST_VIEWS": kept(
    100,
    "login/identity/views-beyond",
    "as many views as a hundred are kept for scopes that somebody might ask for",
  ),
  "login/identity/identity MOST_SCOPES": kept(
    50,
    "e2e/login-identity",
    "whoever has no token is told why, and what helps",
  ),
  "login/identity/signing-key-tables MOST_KEYS": kept(3, "login/identity/signing-key-tables", "are three at most"),
  "login/issuers/issuer-keys MOST_KEPT_BYTES": kept(
    8_388_608,
    "login/identity/read-issuers",
    "of servers with 256 KiB of keys a few are kept, of usual ones hundreds",
  ),
  "login/issuers/read-issuer MOST_BYTES": kept(262_144, PROVIDERS, "metadata and keys of a server have 256 KiB each"),
  "login/issuers/read-issuer MOST_KEYS": kept(100, PROVIDERS, "the first hundred keys of a server are looked at"),
  "login/login-rules MOST_COMPARED": kept(500, STRAYS, FEW_OF_MANY),
  "login/login-rules MOST_SAID": kept(100, STRAYS, FEW_OF_MANY),
  "login/operators/operator-of-claims MOST_OF_LABEL": kept(
    100,
    "admin/operators/operator-of-claims",
    "of what somebody is called a hundred characters stand in their name",
  ),
  "login/server/client-tables MOST_CLIENTS": kept(
    2000,
    "login/clients/client-tables",
    "so many are kept, and the one that was used least lately makes room for another",
  ),
  "login/server/grant-rows MOST_NAMED": kept(
    100,
    FULL,
    "a client's end names a hundred grants in the audit log, and says of how many it is",
  ),
  "login/server/login-tables MOST_CODES": kept(
    1000,
    FULL,
    "a thousand codes are kept, and the next one takes the place of the oldest",
  ),
  "login/server/login-tables MOST_GRANTS": kept(
    100_000,
    FULL,
    "a hundred thousand grants are kept, and the next one waits until there is a place",
  ),
  "login/server/login-tables MOST_OF_A_PERSON": kept(
    50,
    ROWS,
    "makes the one that its person used longest ago end, beyond 50 of them",
  ),
  "login/server/login-tables MOST_SIGN_INS": kept(
    1000,
    FULL,
    "a thousand people who have yet to decide are kept, and the next one takes the place of the oldest",
  ),
  "login/server/login-tables MOST_SIGN_INS_EACH": kept(
    4,
    FULL,
    "four sign-ins of one person are kept, and the next one takes the place of their oldest",
  ),
  "login/server/login-tables MOST_TIDIED": kept(
    100,
    "login/server/login-bad-day",
    "those that ended are deleted some at a time, until none is left",
  ),
  "login/server/token-rows MOST_ACCESS": kept(
    16,
    ROWS,
    "leaves the older access token until it ends, of which there are 16 at most",
  ),
  "login/server/token-rows MOST_USED": kept(200, ROWS, "keeps 200 that were used, to know theft by"),
  "login/sign-in/provider-requests MOST_BYTES": kept(65_536, PROVIDERS, "an answer with tokens has 64 KiB at most"),
  "login/sign-in/signed-in MOST_NAME": kept(200, PROVIDERS, "of a name 200 characters are kept"),
  "login/sign-in/signed-in MOST_SAID": kept(
    40_000,
    PROVIDERS,
    "what is said of somebody has 40,000 characters with the tokens",
  ),
  "login/sign-in/signed-in MOST_SUBJECT": kept(255, "login/sign-in/oauth2", "is nobody where the user endpoint has %s"),
};

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

/** Each bound that src has, by its file and name. Of what strangers meet, and of nothing that only a document says. */
export function boundsInSource(): Readonly<Record<string, number>> {
  const files = globSync(["login/**/*.ts", "http/login-*.ts", "http/well-known.ts"], { cwd: SOURCE });
  const found = files.flatMap((file) =>
    [...readFileSync(join(SOURCE, file), "utf8").matchAll(BOUND)].map(([, name = "", value = ""]) => [
      `${file.replace(/\.ts$/, "")} ${name}`,
      value.split("*").reduce((product, factor) => product * Number(factor.replaceAll("_", "")), 1),
    ]),
  );
  return Object.fromEntries(found) as Record<string, number>;
}
