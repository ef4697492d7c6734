// Owns telling what an author has around calls of those that are refused before they find what they name: unknown,
// hidden, suspended, over a limit. Refuses to let it change the refusal.

import { runRefused } from "../calls/around.ts";
import type { Call } from "../protocol/call.ts";
import { encodeFailure } from "../protocol/dispatch.ts";
import { DEFAULT_DIALECT, DIALECT_2026 } from "../protocol/era.ts";
import type { Failure } from "../protocol/errors.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import type { CallOutcome } from "../protocol/outcome.ts";
import { NO_SINK } from "./call-sink.ts";
import type { Entered } from "./entered.ts";

const AUTHORED: ReadonlySet<unknown> = new Set(["tools/call", "prompts/get", "resources/read"]);

/** Whether it is of what authors write. */
export function isAuthored({ method }: Pick<Call, "method">): boolean {
  return AUTHORED.has(method);
}

export function tellRefused(
  entered: Entered,
  call: Pick<Call, "method" | "params" | "dialect" | "sink">,
  refused: CallOutcome,
): Promise<void> {
  const { params } = call;
  const args = isObject(params.arguments) ? params.arguments : undefined;
  return runRefused({ name: nameOf(entered, call), call, host: entered, args }, refused);
}

/** Of what was counted: of each message that is over a limit. Features that hear of calls hear of it, too. */
export async function tellLimited(
  entered: Entered,
  value: unknown,
  limited: Failure | readonly (Failure | undefined)[],
): Promise<void> {
  const dialect = entered.visit.era === "2026" ? DIALECT_2026 : DEFAULT_DIALECT;
  const messages = Array.isArray(value) ? (value as unknown[]) : [value];
  // Side by side: each may take its time.
  await Promise.all(
    messages.map(async (message, at) => {
      const refused = isFailure(limited) ? limited : limited[at];
      if (!refused || !isObject(message) || !AUTHORED.has(message.method) || !isObject(message.params)) return;
      const { method, params } = message;
      const call = { method: String(method), params, dialect, sink: NO_SINK };
      if (entered.around) await tellRefused(entered, call, refused);
      const answer = encodeFailure(undefined, refused, dialect.era);
      await entered.visit.deployment.heard?.({ host: entered, call, answer, outcome: refused });
    }),
  );
}

/** As what answers would be called, else as it was written. */
function nameOf({ view }: Entered, { method, params }: Pick<Call, "method" | "params">): string {
  const { name = params.uri } = params;
  if (typeof name !== "string") return "";
  if (method === "resources/read") return shown(name);
  const found = method === "tools/call" ? view.tool(name, Date.now()) : view.prompt(name, Date.now());
  return found && !isFailure(found) ? found.target.name : shown(name);
}

/** Of a name that nobody gave. */
const MAX_CHARACTERS = 256;

/** Logs and terminals have it next. */
function shown(name: string): string {
  return name.slice(0, MAX_CHARACTERS).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd");
}
