// Owns what an event says of what was sent: its method, the name that it calls, its trace, and who sent it. Refuses whatever a
// client may write as it likes: of names those alone that its view has, of methods those that there are.

import type { TrailVisit } from "../../deployment/deployment.ts";
import type { Call } from "../../protocol/call.ts";
import { methodsOf } from "../../protocol/dispatch.ts";
import { eraOfVersion } from "../../protocol/era.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { SLUG } from "../../tenants/document/selection-bounds.ts";
import { COUNTERS } from "../../telemetry/counters.ts";
import { LEVELS } from "../../telemetry/levels.ts";
import type { RequestEvent } from "../../telemetry/request-event.ts";
import { traceIdOf, traceIn } from "../../telemetry/trace-context.ts";
import { requestIdOf } from "../../telemetry/request-id.ts";
import { ANONYMOUS } from "../../auth/principal.ts";
import { toBase64Url, type KeyRing, type SealingKey } from "../../auth/seal.ts";

interface Told {
  readonly request: Request;
  readonly visit: TrailVisit | undefined;
  /** That was run last. */
  readonly call: Call | undefined;
}

type Noted = Omit<
  RequestEvent,
  | "tenant"
  | "profile"
  | "principal"
  | "era"
  | "method"
  | "name"
  | "bytesIn"
  | "requestId"
  | "traceId"
  | "counts"
  | "levels"
>;

export async function toldOf(noted: Noted, { request, visit, call }: Told): Promise<RequestEvent> {
  const { headers } = request;
  const { dialect = visit } = call ?? {};
  const text = visit?.sentText;
  const sent = noted.messages > 1 ? BATCH : (call ?? sentIn(text) ?? NOTHING);
  return {
    ...noted,
    ...(await callerOf(visit)),
    ...whatOf(sent, request, visit?.host),
    era: dialect?.era ?? eraOfVersion(headers.get("mcp-protocol-version")),
    bytesIn: text?.length ?? Number(headers.get("content-length")),
    requestId: requestIdOf(request),
    counts: COUNTERS.take(),
    levels: { ...LEVELS },
  };
}

/** Without a message: its method is empty. */
function whatOf(sent: SentMessage, { method, headers }: Request, host: TrailVisit["host"]) {
  const trace = traceIn(sent.params?._meta, (name) => headers.get(name));
  return {
    method: sent.method === "" ? method : knownMethod(sent),
    name: nameIn(sent, host),
    traceId: trace ? traceIdOf(trace) : "",
  };
}

async function callerOf(
  visit: TrailVisit | undefined,
): Promise<Pick<RequestEvent, "tenant" | "profile" | "principal">> {
  if (!visit || isFailure(visit.knock.known)) return { tenant: "", profile: null, principal: null };
  const { tenant, knock, host } = visit;
  const principal = host ? await callerHash(host.ring, host.principal.id) : null;
  // Whoever was not let in may have made it up.
  const profile = host || SLUG.test(knock.profile ?? "") ? knock.profile : null;
  return { tenant, profile, principal };
}

interface SentMessage {
  readonly method: string;
  readonly params?: JsonObject;
}

const BATCH: SentMessage = { method: "batch" };
const NOTHING: SentMessage = { method: "" };
/** What is no call. */
const FURTHER = [
  "initialize",
  "subscriptions/listen",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/roots/list_changed",
];
const METHODS = new Set([...methodsOf("2025"), ...methodsOf("2026"), ...FURTHER]);
/** Longer bodies are not read again for the name of a method. */
const MOST_READ_CHARACTERS = 65_536;

function sentIn(text: string | undefined): SentMessage | undefined {
  if (text === undefined || text.length > MOST_READ_CHARACTERS) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // What is no JSON has no method.
    return undefined;
  }
  if (Array.isArray(value)) return BATCH;
  if (!isObject(value) || typeof value.method !== "string") return undefined;
  return { method: value.method, ...(isObject(value.params) && { params: value.params }) };
}

function knownMethod({ method }: SentMessage): string {
  return method === BATCH.method || METHODS.has(method) ? method : "unknown";
}

const SCHEME = /^[A-Za-z][\w+.-]{0,31}:/;

/** Whatever else a client writes there is not told: it may be anything. */
function nameIn({ method, params = {} }: SentMessage, host: TrailVisit["host"]): string {
  const { name, uri } = params;
  if (typeof uri === "string") return SCHEME.exec(uri)?.[0] ?? "";
  if (!host || typeof name !== "string") return "";
  const { view } = host;
  const found = method === "tools/call" ? view.tool(name, Date.now()) : view.prompt(name, Date.now());
  return found && !isFailure(found) ? found.wire.name : "";
}

const imported = new WeakMap<SealingKey, CryptoKey>();
const SHOWN_BYTES = 8;

/**
 * The name under which a caller stands in events. Without a key of the tenant's nobody can read it back; in another tenant, and with
 * other keys, it is another one. null: anonymous, or the tenant has no keys yet.
 */
async function callerHash([key]: KeyRing, principal: string): Promise<string | null> {
  if (!key || principal === ANONYMOUS.id) return null;
  let known = imported.get(key);
  if (!known) {
    known = await crypto.subtle.importKey("raw", key.secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    imported.set(key, known);
  }
  const signed = await crypto.subtle.sign("HMAC", known, new TextEncoder().encode(`telemetry ${principal}`));
  return toBase64Url(new Uint8Array(signed).slice(0, SHOWN_BYTES));
}
