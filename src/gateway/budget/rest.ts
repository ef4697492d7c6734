// Owns what is kept for who called, the rest of a result that was cut and what a handler has kept: where it is, the link to
// it, and reading it. Refuses everybody but the principal that made the call, in the same profile, for as long as they see
// what they called.

import { ANONYMOUS } from "../../auth/principal.ts";
import { toBase64 } from "../../auth/seal.ts";
import type { BudgetedTool, CallHost, Linking, LinkOptions, ResultKeeper, SeenNames } from "../../calls/call-host.ts";
import { eventOf } from "../../calls/fault.ts";
import type { ResourceLinkBlock } from "../../calls/content-block.ts";
import { readBytes, type Bytes } from "../../calls/read-bytes.ts";
import { AppError } from "../../protocol/app-error.ts";
import type { Call } from "../../protocol/call.ts";
import { failure } from "../../protocol/errors.ts";
import { given } from "../../protocol/members.ts";
import { Encoded, type CallOutcome, type InvalidArguments } from "../../protocol/outcome.ts";
import type { AskedUri } from "../../protocol/source.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { HELD, ROOM_AFTER_S, type HeldShare } from "../../tenants/isolate/held-bytes.ts";
import { reached } from "../../tenants/isolate/in-time.ts";
import { isInPace } from "./pace.ts";
import { bodyOfRest, bytesOf, cutResult, REST_URI } from "./result-budget.ts";
import { MOST_RESULTS_OF_OWNER, RESULT_LIFETIME_MS, resultTables, type KeptResult } from "./result-tables.ts";

type Ended = CallOutcome | InvalidArguments;

export const resultKeeper: ResultKeeper = { within, isRest, link: keepLinked, read };

async function within(outcome: Ended, { wire, name, budget }: BudgetedTool, host: CallHost): Promise<Ended> {
  if (outcome.kind !== "complete" || isAnonymous(host)) return outcome;
  const { result } = outcome;
  const json = result instanceof Encoded ? result.json : JSON.stringify(result);
  const cut = cutResult(json, bytesOf(budget), wire.outputSchema !== undefined);
  if (!cut) return outcome;
  const id = crypto.randomUUID();
  const uri = REST_URI + id;
  const body = bodyOfRest(cut, uri, MOST_RESULTS_OF_OWNER.bytes);
  const lost = (error: unknown) => {
    host.hooks.onError?.(error, eventOf({ name, call: { method: "tools/call" }, host }));
    return null;
  };
  const until = body ? await keptUntil({ id, ...(await ownerOf(host)), tool: name, body }, host).catch(lost) : null;
  const at = until === null ? "could not be kept" : `is at ${uri} until ${new Date(until).toISOString()}`;
  const text = `The result is longer than this profile allows: ${cut.said}. The rest ${at}.`;
  const link = { type: "resource_link", uri, name: `${String(wire.name)}: the rest`, size: body?.byteLength };
  const content = [...cut.items, { type: "text", text }, ...(until === null ? [] : [link])];
  return { kind: "complete", result: { ...cut.result, content } };
}

/** What stands in the place of a tool's name, where it was another call that has something kept: `method NAME`. */
const ofCall = ({ method }: Call, name: string) => (method === "tools/call" ? name : `${method} ${name}`);
const LEAST_LIFETIME_MS = 60_000;
const MOST_LIFETIME_MS = 86_400_000;

async function keepLinked(body: string | Bytes, options: LinkOptions, linking: Linking): Promise<ResourceLinkBlock> {
  const { name, ttl = RESULT_LIFETIME_MS } = options;
  if (!(ttl >= LEAST_LIFETIME_MS && ttl <= MOST_LIFETIME_MS)) {
    throw new RangeError(`ctx.link: ttl is a number of milliseconds from ${LEAST_LIFETIME_MS} to ${MOST_LIFETIME_MS}`);
  }
  if (typeof name !== "string") throw new TypeError("ctx.link: name is a string");
  const { call, host } = linking;
  // What an answer cannot have, nobody could read.
  const most = Math.min(MOST_RESULTS_OF_OWNER.bytes, host.limits.resultBytes);
  const id = crypto.randomUUID();
  const uri = REST_URI + id;
  const { size, ...content } = await contentOf(body, options, { most, signal: linking.signal });
  const kept = new TextEncoder().encode(JSON.stringify({ contents: [{ uri, ...content }] }));
  if (kept.byteLength > most) throw new RangeError(`ctx.link: "${name}" is longer than ${most} bytes`);
  const tool = ofCall(call, linking.name);
  const until = await keptUntil({ id, ...(await ownerOf(host)), tool, body: kept, lifetimeMs: ttl }, host);
  if (until === null) throw new AppError("busy", { retryAfter: ROOM_AFTER_S });
  return given({ type: "resource_link" as const, uri, name, mimeType: content.mimeType, size });
}

/** `size`: bytes. */
async function contentOf(
  body: string | Bytes,
  { mimeType }: LinkOptions,
  { most, signal }: { readonly most: number; readonly signal: () => AbortSignal },
): Promise<{ readonly size: number; readonly mimeType?: string; readonly text?: string; readonly blob?: string }> {
  if (typeof body === "string") {
    return { size: new TextEncoder().encode(body).byteLength, mimeType: mimeType ?? "text/plain", text: body };
  }
  const bytes = await readBytes(body, most, signal);
  const own = body instanceof Blob && body.type !== "" ? body.type : undefined;
  return given({ size: bytes.byteLength, mimeType: mimeType ?? own, blob: toBase64(bytes) });
}

/**
 * null: there is no room for it, here while it waits for the authority, or there; or it is too much at once. Rejects where
 * nobody knows whether it is kept.
 */
async function keptUntil(kept: KeptResult, host: CallHost): Promise<number | null> {
  const { byteLength } = kept.body;
  const share = roomFor({ held: byteLength, moved: byteLength, owner: kept.principal }, host);
  if (!share) return null;
  try {
    return await reached(remote(host.stub(), resultTables).keep(kept));
  } finally {
    share.release();
  }
}

function isRest(uri: string): boolean {
  return uri.startsWith(REST_URI);
}

async function read({ uri, asked }: AskedUri, call: Call, host: CallHost, seen: SeenNames): Promise<CallOutcome> {
  const none = failure("resourceNotFound", undefined, { uri: asked });
  const id = uri.slice(REST_URI.length);
  const { owner, principal } = await ownerOf(host);
  const results = remote(host.stub(), resultTables);
  const about = await reached(results.look(id, owner));
  if (!about) return none;
  const made = againUnder(seen, about.tool);
  if (!made) return none;
  const withdrawn = await host.recheck({ ...call, ...made });
  if (withdrawn) return withdrawn;
  // It is in memory as bytes and as a text.
  const share = roomFor({ held: 2 * about.bytes, moved: about.bytes, owner: principal }, host);
  if (!share) throw new AppError("busy", { retryAfter: ROOM_AFTER_S });
  try {
    const kept = await reached(results.take(id, owner));
    return kept ? { kind: "complete", result: new Encoded(new TextDecoder().decode(kept.body)) } : none;
  } finally {
    share.release();
  }
}

/** The call of which something was kept, made again: a tool's name, or as `ofCall` writes it. undefined: it is not seen. */
function againUnder(seen: SeenNames, tool: string): Pick<Call, "method" | "params"> | undefined {
  // A tool of an upstream may have blanks and slashes in its name, behind its `ID__`.
  const [, method = "tools/call", name = tool] = /^([a-z]+\/\S+) (.*)$/s.exec(tool) ?? [];
  if (method === "resources/read") return seen.sees(name) ? { method, params: { uri: name } } : undefined;
  // What is listed and completed is of the whole view.
  if (!/call|get/.test(method)) return { method, params: {} };
  const all = method === "tools/call" ? seen.tools : seen.prompts;
  const wire = all.find(({ target }) => target.name === name)?.wire;
  return wire && { method, params: { name: wire.name } };
}

interface Wanted {
  /** Bytes in memory. */
  readonly held: number;
  /** Bytes that the authority writes or reads. */
  readonly moved: number;
  readonly owner: string;
}

/** undefined: not now. */
function roomFor({ held, moved, owner }: Wanted, { tenant }: CallHost): HeldShare | undefined {
  const share = HELD.open(`tenant ${tenant}`);
  if (share.resize(held) && isInPace(`${tenant} ${owner}`, moved, Date.now())) return share;
  share.release();
  return undefined;
}

function isAnonymous({ principal }: CallHost): boolean {
  return principal.id === ANONYMOUS.id;
}

async function ownerOf(host: CallHost): Promise<Pick<KeptResult, "owner" | "principal">> {
  const principal = await host.owner();
  return { owner: JSON.stringify([principal, host.profile]), principal };
}
