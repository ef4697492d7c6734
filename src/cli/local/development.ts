// How a local server runs, for `npm start` and `tenantry stdio --local`: the options of `wrangler dev`, the token of
// one start, and the check that it is ready. Works without a network.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { writePrivate } from "./private-file.ts";

/** A port on which no client listens for its authorization code, as Cursor does on wrangler's default port. */
export const DEFAULT_PORT = "8362";

/** Environment variables for wrangler, which override the user's own. */
export const WRANGLER_ENVIRONMENT = {
  // Without these, wrangler asks the network for a location to simulate, and waits for the answer.
  WRANGLER_SEND_METRICS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  // The explorer gives every page on this machine access to all stored data, without a token. Traces are visible only
  // in the explorer.
  X_LOCAL_EXPLORER: "false",
  X_LOCAL_OBSERVABILITY: "false",
  // An inherited value, such as a test's, would end the Worker silently at a mistake in a definition.
  NODE_ENV: "development",
};

/** Options of `wrangler dev` that the user may override on the command line. */
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
 * Variables of the Worker that cannot be overridden. Other hostnames are refused, so that a web page cannot reach
 * the Worker through DNS rebinding. Tools may call local servers, which a deployed Worker refuses.
 */
export const LOCAL_VARS: readonly string[] = [
  "--var=HOSTS:localhost,127.0.0.1,[::1]",
  "--var=OUTBOUND_LOCAL:http://localhost,http://127.0.0.1,http://[::1]",
];

/**
 * Secrets that a local Worker reads from a file. The token is valid for this start only, and a deployed Worker has
 * none like it.
 */
export function developmentSecrets(adminToken: string, secretsKey: string): Record<string, string> {
  return { DEV_ADMIN_TOKEN: adminToken, SECRETS_KEY: secretsKey };
}

/** Stores the key, because data sealed with it must stay readable after a restart. */
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
  /** The error that the Worker returns to every request; undefined: the Worker works. */
  readonly error: string | undefined;
}

/** undefined until a tenantry Worker answers. A Worker with a mistake also answers, and waits for the correction. */
export async function probeServer(origin: string): Promise<ServerStatus | undefined> {
  try {
    const response = await fetch(new URL("/healthz", origin), { signal: AbortSignal.timeout(5000) });
    if (response.ok) return { error: undefined };
    return isTenantryError(response) ? { error: (await response.text()).trim() } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Distinguishes the Worker's errors from wrangler's error pages for a Worker that cannot start: those have no
 * Cache-Control.
 */
function isTenantryError({ status, headers }: Response): boolean {
  const isPlain = headers.get("content-type")?.startsWith("text/plain") === true;
  return status === 500 && isPlain && headers.get("cache-control") === "no-store";
}
