// Owns the rest of a result that was cut: where it is kept, the link to it, and reading it. Refuses everybody but the
// principal that made the call, in the same profile, for as long as they see the tool that they called.

import { ANONYMOUS } from "../../auth/principal.ts";
import type { BudgetedTool, CallHost, ResultKeeper } from "../../calls/call-host.ts";
import { AppError } from "../../protocol/app-error.ts";
import type { Call } from "../../protocol/call.ts";
import { failure } from "../../protocol/errors.ts";
import { Encoded, type CallOutcome, type InvalidArguments } from "../../protocol/outcome.ts";
import type { AskedUri } from "../../protocol/source.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { HELD, ROOM_AFTER_S, type HeldShare } from "../../tenants/isolate/held-bytes.ts";
import { inTime, reached } from "../../tenants/isolate/in-time.ts";
import { isInPace } from "./pace.ts";
import { bodyOfRest, bytesOf, cutResult, REST_URI } from "./result-budget.ts";
import { MOST_RESULTS_OF_OWNER, resultTables, type KeptResult } from "./result-tables.ts";

type Ended = CallOutcome | InvalidArguments;

export const resultKeeper: ResultKeeper = { within, isRest, read };

async function within(outcome: Ended, { wire, name, budget }: BudgetedTool, host: CallHost): Promise<Ended> {
  if (outcome.kind !== "complete" || isAnonymous(host)) return outcome;
  const { result } = outcome;
  const json = result instanceof Encoded ? result.json : JSON.stringify(result);
  const cut = cutResult(json, bytesOf(budget), wire.outputSchema !== undefined);
  if (!cut) return outcome;
  const id = crypto.randomUUID();
  const uri = REST_URI + id;
  const body = bodyOfRest(cut, uri, MOST_RESULTS_OF_OWNER.bytes);
  const until = body ? await keptUntil({ id, ...ownerOf(host), tool: name, body }, host) : null;
  const at = until === null ? "could not be kept" : `is at ${uri} until ${new Date(until).toISOString()}`;
  const text = `The result is longer than this profile allows: ${cut.said}. The rest ${at}.`;
  const link = { type: "resource_link", uri, name: `${String(wire.name)}: the rest`, size: body?.byteLength };
  const content = [...cut.items, { type: "text", text }, ...(until === null ? [] : [link])];
  return { kind: "complete", result: { ...cut.result, content } };
}

/** null: there is no room for it, here while it waits for the authority, or there; or it is too much at once. */
async function keptUntil(kept: KeptResult, host: CallHost): Promise<number | null> {
  const share = roomFor(kept.body.byteLength, kept.body.byteLength, host);
  if (!share) return null;
  try {
    return await inTime(remote(host.stub(), resultTables).keep(kept));
  } catch (error) {
    host.hooks.onError?.(error, undefined);
    return null;
  } finally {
    share.release();
  }
}

function isRest(uri: string): boolean {
  return uri.startsWith(REST_URI);
}

async function read(
  { uri, asked }: AskedUri,
  call: Call,
  host: CallHost,
  listed: (name: string) => string | undefined,
): Promise<CallOutcome> {
  const none = failure("resourceNotFound", undefined, { uri: asked });
  if (isAnonymous(host)) return none;
  const id = uri.slice(REST_URI.length);
  const { owner } = ownerOf(host);
  const results = remote(host.stub(), resultTables);
  const about = await reached(results.look(id, owner));
  const name = about && listed(about.tool);
  if (!about || name === undefined) return none;
  const withdrawn = await host.recheck({ ...call, method: "tools/call", params: { name } });
  if (withdrawn) return withdrawn;
  // It is in memory as bytes and as a text.
  const share = roomFor(2 * about.bytes, about.bytes, host);
  if (!share) throw new AppError("busy", { retryAfter: ROOM_AFTER_S });
  try {
    const kept = await reached(results.take(id, owner));
    return kept ? { kind: "complete", result: new Encoded(new TextDecoder().decode(kept.body)) } : none;
  } finally {
    share.release();
  }
}

/** `moved`: what the authority writes or reads. undefined: not now. */
function roomFor(held: number, moved: number, { tenant, principal }: CallHost): HeldShare | undefined {
  const share = HELD.open(`tenant ${tenant}`);
  if (share.resize(held) && isInPace(`${tenant} ${principal.id}`, moved, Date.now())) return share;
  share.release();
  return undefined;
}

function isAnonymous({ principal }: CallHost): boolean {
  return principal.id === ANONYMOUS.id;
}

function ownerOf({ principal, profile }: CallHost): Pick<KeptResult, "owner" | "principal"> {
  return { owner: JSON.stringify([principal.id, profile]), principal: principal.id };
}
