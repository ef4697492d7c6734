// Owns what every part of the bridge works with: the endpoint, the way to the client, the log, the end of it all.

import type { McpEndpoint } from "../mcp-endpoint.ts";
import { mcpReason } from "../terminal/mcp-problem.ts";
import type { LocalCall } from "./calls.ts";

export interface Wiring {
  readonly endpoint: McpEndpoint;
  /** The text of a message, to the local client. */
  readonly write: (text: string) => Promise<void>;
  /** One line on stderr. */
  readonly log: (text: string) => void;
  /** Aborted when the bridge ends. */
  readonly signal: AbortSignal;
}

/** Every call gets its answer, whatever happens to the work behind it. */
export async function answering(wiring: Wiring, call: LocalCall, work: () => Promise<void>): Promise<void> {
  let why = "no answer came";
  try {
    await work();
  } catch (error) {
    why = mcpReason(error, wiring.endpoint);
  }
  if (!call.isOpen || wiring.signal.aborted) return;
  wiring.log(`${call.sent.method}: ${why}`);
  await call.fail(why);
}
