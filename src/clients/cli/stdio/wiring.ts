// Owns what every part of the bridge works with: the endpoint, the way to the client, the log, the end of it all.

import { CliError } from "../exit.ts";
import type { McpAnswer, McpPlace } from "../mcp-http.ts";
import type { Call } from "./calls.ts";

export interface Wiring {
  readonly place: McpPlace;
  /** The text of a message, to the local client. */
  readonly write: (text: string) => Promise<void>;
  /** One line on stderr. */
  readonly log: (text: string) => void;
  /** Aborted when the bridge ends. */
  readonly signal: AbortSignal;
}

/** Every call gets its answer, whatever happens to the work behind it. */
export async function answering(wiring: Wiring, call: Call, work: () => Promise<void>): Promise<void> {
  let why = "no answer came";
  try {
    await work();
  } catch (error) {
    why = reasonOf(error);
  }
  if (!call.isOpen || wiring.signal.aborted) return;
  wiring.log(`${call.sent.method}: ${why}`);
  await call.fail(why);
}

export function reasonOf(error: unknown): string {
  return error instanceof CliError || error instanceof Error ? error.message : String(error);
}

/** Why an answer answers nothing. */
export function refusalOf({ place }: Wiring, { kind, status, why }: McpAnswer): string {
  if (kind === "json" || kind === "stream") return `${place.url}: the stream ended without an answer`;
  if (status !== 401) return why;
  return `${why} (${place.token === undefined ? "no key: set TENANTRY_KEY or give --key" : "the key was refused"})`;
}

/** Worth another try later. */
export function isBusy({ status }: McpAnswer): boolean {
  return status >= 500 || status === 429;
}
