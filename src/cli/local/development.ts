// Owns how a server is run on this machine, for `npm start` and for `tenantry stdio --local`: what `wrangler dev` is
// told, the token of one start, when it is ready. Refuses to need the network.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { writePrivate } from "./private-file.ts";

/** On which no client listens for its authorization code, as Cursor does on wrangler's own: docs/decisions/0063-operators.md */
export const DEFAULT_PORT = "8362";

/** What wrangler is told by its environment, whatever a person's own says. */
export const WRANGLER_ENVIRONMENT = {
  // Without these wrangler asks the network for a place to pretend to be at, and waits for it.
  WRANGLER_SEND_METRICS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  // The explorer reads and writes all that is stored, without a token, for every page of this machine. What is traced is
  // shown by it alone.
  X_LOCAL_EXPLORER: "false",
  X_LOCAL_OBSERVABILITY: "false",
  // A shell's own, such as that of a test, would end the Worker at a mistake in a definition, with nobody told.
  NODE_ENV: "development",
};

/** Options of `wrangler dev` that a person may override on the command line. */
export function developmentOptions(port: string, state: string): Record<string, string> {
  return {
    port,
    "persist-to": state,
    "inspector-port": "0",
    "log-level": "warn",
    "show-interactive-dev-session": "false",
  };
}

/**
 * Variables of the Worker that nobody may override. Other hostnames are refused, so that a web page cannot reach the
 * Worker by pointing its own name at this machine. Tools may ask what runs beside it: a deployed Worker refuses that.
 */
export const LOCAL_VARS: readonly string[] = [
  "--var=HOSTS:localhost,127.0.0.1,[::1]",
  "--var=OUTBOUND_LOCAL:http://localhost,http://127.0.0.1,http://[::1]",
];

/** What a local Worker is told in a file. The token is valid for this start only: a deployed Worker has none like it. */
export function developmentSecrets(adminToken: string, secretsKey: string): Record<string, string> {
  return { DEV_ADMIN_TOKEN: adminToken, SECRETS_KEY: secretsKey };
}

/** The key is kept, because what was sealed with it is kept too and must stay readable. */
export async function loadOrCreateSecretsKey(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch {
    const key = randomBytes(32).toString("base64url");
    await writePrivate(file, key);
    return key;
  }
}

export interface ServerStatus {
  /** Why it cannot serve anybody, which is what it answers to every request; undefined where it serves. */
  readonly error: string | undefined;
}

/** Undefined until a Worker of tenantry answers. One with a mistake answers too: it waits to be corrected. */
export async function probeServer(origin: string): Promise<ServerStatus | undefined> {
  try {
    const response = await fetch(new URL("/healthz", origin), { signal: AbortSignal.timeout(5000) });
    if (response.ok) return { error: undefined };
    return isTenantryError(response) ? { error: (await response.text()).trim() } : undefined;
  } catch {
    return undefined;
  }
}

/** wrangler has error pages of its own, for a Worker that it cannot run yet; none of those says how it is cached. */
function isTenantryError({ status, headers }: Response): boolean {
  const isPlain = headers.get("content-type")?.startsWith("text/plain") === true;
  return status === 500 && isPlain && headers.get("cache-control") === "no-store";
}
