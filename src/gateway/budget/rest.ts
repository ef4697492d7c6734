// Owns the rest of a result that was cut: where it is kept, the link to it, and reading it. Refuses everybody but the
// principal that made the call, in the same profile, for as long as they see the tool that they called.

import { ANONYMOUS } from "../../auth/principal.ts";
import type { BudgetedTool, CallHost, ResultKeeper } from "../../calls/call-host.ts";
import type { Call } from "../../protocol/call.ts";
import { failure } from "../../protocol/errors.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { Encoded, type CallOutcome, type InvalidArguments } from "../../protocol/outcome.ts";
import type { AskedUri } from "../../protocol/source.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { bytesOf, cutResult, REST_URI } from "./result-budget.ts";
import { resultTables, type KeptResult } from "./result-tables.ts";

type Ended = CallOutcome | InvalidArguments;

export const resultKeeper: ResultKeeper = { within, isRest, read };

async function within(outcome: Ended, { wire, budget }: BudgetedTool, host: CallHost): Promise<Ended> {
  if (outcome.kind !== "complete" || isAnonymous(host)) return outcome;
  const { result } = outcome;
  const json = result instanceof Encoded ? result.json : JSON.stringify(result);
  const cut = cutResult(json, bytesOf(budget), wire.outputSchema !== undefined);
  if (!cut) return outcome;
  const tool = String(wire.name);
  const id = crypto.randomUUID();
  const uri = REST_URI + id;
  const body = new TextEncoder().encode(JSON.stringify({ contents: cut.rest(uri) }));
  const until = await keptUntil({ id, owner: ownerOf(host), tool, body }, host);
  const at = until === null ? "could not be kept" : `is at ${uri} until ${new Date(until).toISOString()}`;
  const text = `The result is longer than this profile allows: ${cut.said}. The rest ${at}.`;
  const link = { type: "resource_link", uri, name: `${tool}: the rest`, size: body.byteLength };
  const content = [...cut.items, { type: "text", text }, ...(until === null ? [] : [link])];
  return { kind: "complete", result: { ...cut.result, content } };
}

async function keptUntil(kept: KeptResult, host: CallHost): Promise<number | null> {
  try {
    return await remote(host.stub(), resultTables).keep(kept);
  } catch (error) {
    host.hooks.onError?.(error, undefined);
    return null;
  }
}

function isRest(uri: string): boolean {
  return uri.startsWith(REST_URI);
}

async function read(
  { uri, asked }: AskedUri,
  call: Call,
  host: CallHost,
  tool: (name: string) => unknown,
): Promise<CallOutcome> {
  const results = remote(host.stub(), resultTables);
  const kept = isAnonymous(host) ? undefined : await results.take(uri.slice(REST_URI.length), ownerOf(host));
  const seen = kept && tool(kept.tool);
  if (!kept || !seen || isFailure(seen)) return failure("resourceNotFound", undefined, { uri: asked });
  const withdrawn = await host.recheck({ ...call, method: "tools/call", params: { name: kept.tool } });
  return withdrawn ?? { kind: "complete", result: new Encoded(new TextDecoder().decode(kept.body)) };
}

function isAnonymous({ principal }: CallHost): boolean {
  return principal.id === ANONYMOUS.id;
}

function ownerOf({ principal, profile }: CallHost): string {
  return JSON.stringify([principal.id, profile]);
}
