// Owns how a server is run on this machine, for `npm start` and for `tenantry stdio --local`: what `wrangler dev` is
// told, the token of one start, when it is ready. Refuses to need the network.

import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** What wrangler is told by its environment, whatever a person's own says. */
export const ENVIRONMENT = {
  // Without these wrangler asks the network for a place to pretend to be at, and waits for it.
  WRANGLER_SEND_METRICS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  // The explorer reads and writes all that is stored, without a token, for every page of this machine. What is traced is
  // shown by it alone.
  X_LOCAL_EXPLORER: "false",
  X_LOCAL_OBSERVABILITY: "false",
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

/** Variables of the Worker that nobody may override. */
export function developmentVariables(adminToken: string, secretsKey: string): string[] {
  return [
    // Other hostnames are refused, so that a web page cannot reach the Worker by pointing its own name at this machine.
    "--var=HOSTS:localhost,127.0.0.1,[::1]",
    // Valid for this start only. A deployed Worker has no such token unless somebody sets one.
    `--var=DEV_ADMIN_TOKEN:${adminToken}`,
    `--var=SECRETS_KEY:${secretsKey}`,
  ];
}

export function developmentTokenFile(folder: string, port: string): string {
  return join(folder, ".wrangler", `development-token-${port}`);
}

/** Written where the command line looks when it is run in this folder; only its owner may read it. */
export async function keepDevelopmentToken(folder: string, port: string): Promise<string> {
  const token = randomBytes(24).toString("base64url");
  const file = developmentTokenFile(folder, port);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, token, { mode: 0o600 });
  return token;
}

/** The key is kept, because what was sealed with it is kept too and must stay readable. */
export async function keepSecretsKey(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch {
    const key = randomBytes(32).toString("base64url");
    await writeFile(file, key, { mode: 0o600 });
    return key;
  }
}

export async function isReady(origin: string): Promise<boolean> {
  try {
    return (await fetch(new URL("/healthz", origin), { signal: AbortSignal.timeout(5000) })).ok;
  } catch {
    return false;
  }
}
