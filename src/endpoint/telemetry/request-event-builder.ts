// Builds the event of one request. It contains no text of the client's choice: only names that the caller's view has,
// and only known methods.

import type { ObservedContext } from "../../deployment/deployment.ts";
import type { McpRequest } from "../../protocol/mcp-request.ts";
import { methodsOf } from "../../protocol/dispatch.ts";
import { eraOfVersion } from "../../protocol/revisions.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { SLUG } from "../../tenants/document/selection-bounds.ts";
import { COUNTERS } from "../../telemetry/counters.ts";
import { GAUGES } from "../../telemetry/gauges.ts";
import type { RequestEvent } from "../../telemetry/request-event.ts";
import { traceIdOf, readTrace } from "../../telemetry/trace-context.ts";
import { requestIdOf } from "../../telemetry/request-id.ts";
import { ANONYMOUS } from "../../auth/principal.ts";
import { toBase64Url, type KeyRing, type SealingKey } from "../../auth/seal.ts";

interface EventInput {
  readonly request: Request;
  readonly context: ObservedContext | undefined;
  /** The call that ran last. */
  readonly call: McpRequest | undefined;
}

type EventMeasurements = Omit<
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

export async function buildRequestEvent(
  measurements: EventMeasurements,
  { request, context, call }: EventInput,
): Promise<RequestEvent> {
  const { headers } = request;
  const { revision = context } = call ?? {};
  const text = context?.sentText;
  const message = measurements.messages > 1 ? BATCH : (call ?? parseSentMessage(text) ?? NOTHING);
  return {
    ...measurements,
    ...(await describeCaller(context)),
    ...describeMessage(message, request, context?.requestScope),
    era: revision?.era ?? eraOfVersion(headers.get("mcp-protocol-version")),
    bytesIn: text?.length ?? Number(headers.get("content-length")),
    requestId: requestIdOf(request),
    counts: COUNTERS.take(),
    levels: { ...GAUGES },
  };
}

/** A request without a message has an empty method. */
function describeMessage(
  message: SentMessage,
  { method, headers }: Request,
  requestScope: ObservedContext["requestScope"],
) {
  const trace = readTrace(message.params?._meta, (name) => headers.get(name));
  return {
    method: message.method === "" ? method : knownMethod(message),
    name: calledNameOf(message, requestScope),
    traceId: trace ? traceIdOf(trace) : "",
  };
}

async function describeCaller(
  context: ObservedContext | undefined,
): Promise<Pick<RequestEvent, "tenant" | "profile" | "principal">> {
  if (!context || isFailure(context.target.tenantResult)) return { tenant: "", profile: null, principal: null };
  const { tenant, target, requestScope } = context;
  const principal = requestScope ? await callerHash(requestScope.ring, requestScope.principal.id) : null;
  // The profile in a rejected request may be made up.
  const profile = requestScope || SLUG.test(target.profile ?? "") ? target.profile : null;
  return { tenant, profile, principal };
}

interface SentMessage {
  readonly method: string;
  readonly params?: JsonObject;
}

const BATCH: SentMessage = { method: "batch" };
const NOTHING: SentMessage = { method: "" };
/** Methods that are not calls. */
const OTHER_METHODS = [
  "initialize",
  "subscriptions/listen",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/roots/list_changed",
];
const METHODS = new Set([...methodsOf("2025"), ...methodsOf("2026"), ...OTHER_METHODS]);
/** A longer body is not parsed again for its method. */
const MAX_PARSED_CHARACTERS = 65_536;

function parseSentMessage(text: string | undefined): SentMessage | undefined {
  if (text === undefined || text.length > MAX_PARSED_CHARACTERS) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Invalid JSON has no method.
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

/**
 * Reports only names that the view has, and only the scheme of a URI. Any other text of the client is left out: it may
 * be anything.
 */
function calledNameOf({ method, params = {} }: SentMessage, requestScope: ObservedContext["requestScope"]): string {
  const { name, uri } = params;
  if (typeof uri === "string") return SCHEME.exec(uri)?.[0] ?? "";
  if (!requestScope || typeof name !== "string") return "";
  const { view } = requestScope;
  const item = method === "tools/call" ? view.tool(name, Date.now()) : view.prompt(name, Date.now());
  return item && !isFailure(item) ? item.wire.name : "";
}

const hmacKeys = new WeakMap<SealingKey, CryptoKey>();
const HASH_BYTES = 8;

/**
 * A pseudonym of the caller. It cannot be reversed without a key of the tenant, and differs between tenants and keys.
 * null: the caller is anonymous, or the tenant has no keys yet.
 */
async function callerHash([key]: KeyRing, principal: string): Promise<string | null> {
  if (!key || principal === ANONYMOUS.id) return null;
  let hmacKey = hmacKeys.get(key);
  if (!hmacKey) {
    hmacKey = await crypto.subtle.importKey("raw", key.secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    hmacKeys.set(key, hmacKey);
  }
  const signed = await crypto.subtle.sign("HMAC", hmacKey, new TextEncoder().encode(`telemetry ${principal}`));
  return toBase64Url(new Uint8Array(signed).slice(0, HASH_BYTES));
}
