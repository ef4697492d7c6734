// Stores what does not fit into a result: the rest of a truncated result, and what a handler stores with `ctx.link`.
// Only the principal that made the call can read it, in the same profile, and only while it can still see what it
// called.

import { ANONYMOUS } from "../../auth/principal.ts";
import { toBase64 } from "../../auth/seal.ts";
import type {
  BudgetedTool,
  RequestScope,
  LinkContext,
  LinkOptions,
  ResultStore,
  VisibleNames,
} from "../../handlers/request-scope.ts";
import { eventOf } from "../../handlers/error-outcome.ts";
import type { ResourceLinkBlock } from "../../handlers/content-block.ts";
import { readBytes, type Bytes } from "../../handlers/read-bytes.ts";
import { AppError } from "../../protocol/app-error.ts";
import type { McpRequest } from "../../protocol/mcp-request.ts";
import { failure } from "../../protocol/errors.ts";
import { omitUndefined } from "../../protocol/members.ts";
import { SerializedResult, type CallOutcome, type ToolOutcome } from "../../protocol/call-outcome.ts";
import type { ResourceRef } from "../../protocol/source.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { MEMORY_BUDGET, MEMORY_RETRY_AFTER_S, type MemoryReservation } from "../../tenants/cache/memory-budget.ts";
import { withTimeoutOrBusy } from "../../tenants/cache/with-timeout.ts";
import { takeByteRate } from "./byte-rate-limit.ts";
import { encodeOverflow, bytesOf, truncateResult, OVERFLOW_URI } from "./truncate-result.ts";
import { MAX_RESULTS_PER_OWNER, RESULT_LIFETIME_MS, resultStore, type StoredResult } from "./result-store.ts";

export const overflowStore: ResultStore = {
  enforceBudget: truncateOutcome,
  isOverflow: isOverflowUri,
  link: storeLinked,
  read: readOverflow,
};

async function truncateOutcome(
  outcome: ToolOutcome,
  { wire, name, budget }: BudgetedTool,
  requestScope: RequestScope,
): Promise<ToolOutcome> {
  if (outcome.kind !== "complete" || isAnonymous(requestScope)) return outcome;
  const { result } = outcome;
  const json = result instanceof SerializedResult ? result.json : JSON.stringify(result);
  const truncated = truncateResult(json, bytesOf(budget), wire.outputSchema !== undefined);
  if (!truncated) return outcome;
  const id = crypto.randomUUID();
  const uri = OVERFLOW_URI + id;
  const body = encodeOverflow(truncated, uri, MAX_RESULTS_PER_OWNER.bytes);
  const onStoreError = (error: unknown) => {
    requestScope.hooks.onError?.(error, eventOf({ name, call: { method: "tools/call" }, requestScope }));
    return null;
  };
  const expiresAt = body
    ? await storeResult({ id, ...(await ownerOf(requestScope)), tool: name, body }, requestScope).catch(onStoreError)
    : null;
  const location =
    expiresAt === null ? "could not be stored" : `is at ${uri} until ${new Date(expiresAt).toISOString()}`;
  const text = `The result is longer than this profile allows: ${truncated.summary}. The rest ${location}.`;
  const link = { type: "resource_link", uri, name: `${String(wire.name)}: the rest`, size: body?.byteLength };
  const content = [...truncated.items, { type: "text", text }, ...(expiresAt === null ? [] : [link])];
  return { kind: "complete", result: { ...truncated.result, content } };
}

/** Stored in place of a tool's name if another method made the call: `method NAME`. */
const callLabelOf = ({ method }: McpRequest, name: string) => (method === "tools/call" ? name : `${method} ${name}`);
const MIN_LIFETIME_MS = 60_000;
const MAX_LIFETIME_MS = 86_400_000;

async function storeLinked(
  body: string | Bytes,
  options: LinkOptions,
  linking: LinkContext,
): Promise<ResourceLinkBlock> {
  const { name, ttl = RESULT_LIFETIME_MS } = options;
  if (!(ttl >= MIN_LIFETIME_MS && ttl <= MAX_LIFETIME_MS)) {
    throw new RangeError(
      `ctx.link: ttl must be a number of milliseconds from ${MIN_LIFETIME_MS} to ${MAX_LIFETIME_MS}, not ${ttl}`,
    );
  }
  if (typeof name !== "string") throw new TypeError("ctx.link: name must be a string");
  const { call, requestScope } = linking;
  // A body that exceeds the limit of a response could never be read.
  const maxBytes = Math.min(MAX_RESULTS_PER_OWNER.bytes, requestScope.limits.resultBytes);
  const id = crypto.randomUUID();
  const uri = OVERFLOW_URI + id;
  const { size, ...content } = await contentOf(body, options, { maxBytes, signal: linking.signal });
  const encoded = new TextEncoder().encode(JSON.stringify({ contents: [{ uri, ...content }] }));
  if (encoded.byteLength > maxBytes) throw new RangeError(`ctx.link: "${name}" is longer than ${maxBytes} bytes`);
  const tool = callLabelOf(call, linking.name);
  const expiresAt = await storeResult(
    { id, ...(await ownerOf(requestScope)), tool, body: encoded, lifetimeMs: ttl },
    requestScope,
  );
  if (expiresAt === null) throw new AppError("busy", { retryAfter: MEMORY_RETRY_AFTER_S });
  return omitUndefined({ type: "resource_link" as const, uri, name, mimeType: content.mimeType, size });
}

/** `size` is in bytes. */
async function contentOf(
  body: string | Bytes,
  { mimeType }: LinkOptions,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: () => AbortSignal },
): Promise<{ readonly size: number; readonly mimeType?: string; readonly text?: string; readonly blob?: string }> {
  if (typeof body === "string") {
    return { size: new TextEncoder().encode(body).byteLength, mimeType: mimeType ?? "text/plain", text: body };
  }
  const bytes = await readBytes(body, maxBytes, signal);
  const blobType = body instanceof Blob && body.type !== "" ? body.type : undefined;
  return omitUndefined({ size: bytes.byteLength, mimeType: mimeType ?? blobType, blob: toBase64(bytes) });
}

/**
 * Returns null if there is no room, in this isolate or in the tenant object, or if the byte rate is exceeded. Rejects
 * if it is unknown whether the result was stored.
 */
async function storeResult(result: StoredResult, requestScope: RequestScope): Promise<number | null> {
  const { byteLength } = result.body;
  const reservation = reserveMemory(
    { memoryBytes: byteLength, transferBytes: byteLength, owner: result.principal },
    requestScope,
  );
  if (!reservation) return null;
  try {
    return await withTimeoutOrBusy(createRpcClient(requestScope.stub(), resultStore).put(result));
  } finally {
    reservation.release();
  }
}

function isOverflowUri(uri: string): boolean {
  return uri.startsWith(OVERFLOW_URI);
}

async function readOverflow(
  { uri, asked }: ResourceRef,
  call: McpRequest,
  requestScope: RequestScope,
  visibleNames: VisibleNames,
): Promise<CallOutcome> {
  const notFound = failure("resourceNotFound", undefined, { uri: asked });
  const id = uri.slice(OVERFLOW_URI.length);
  const { owner, principal } = await ownerOf(requestScope);
  const results = createRpcClient(requestScope.stub(), resultStore);
  const info = await withTimeoutOrBusy(results.getInfo(id, owner));
  if (!info) return notFound;
  const originalCall = toOriginalCall(visibleNames, info.tool);
  if (!originalCall) return notFound;
  const rejection = await requestScope.recheck({ ...call, ...originalCall });
  if (rejection) return rejection;
  // The body is in memory as bytes and as text.
  const reservation = reserveMemory(
    { memoryBytes: 2 * info.bytes, transferBytes: info.bytes, owner: principal },
    requestScope,
  );
  if (!reservation) throw new AppError("busy", { retryAfter: MEMORY_RETRY_AFTER_S });
  try {
    const stored = await withTimeoutOrBusy(results.get(id, owner));
    return stored
      ? { kind: "complete", result: new SerializedResult(new TextDecoder().decode(stored.body)) }
      : notFound;
  } finally {
    reservation.release();
  }
}

/**
 * Rebuilds the call that stored a result, from a tool's name or from what `callLabelOf` wrote. Returns undefined if its
 * target is not visible.
 */
function toOriginalCall(visibleNames: VisibleNames, tool: string): Pick<McpRequest, "method" | "params"> | undefined {
  // An upstream's tool may have spaces and slashes in its name, after `ID__`.
  const [, method = "tools/call", name = tool] = /^([a-z]+\/\S+) (.*)$/s.exec(tool) ?? [];
  if (method === "resources/read") return visibleNames.sees(name) ? { method, params: { uri: name } } : undefined;
  // Lists and completions depend on the whole view, not on one name.
  if (!/call|get/.test(method)) return { method, params: {} };
  const all = method === "tools/call" ? visibleNames.tools : visibleNames.prompts;
  const wire = all.find(({ target }) => target.name === name)?.wire;
  return wire && { method, params: { name: wire.name } };
}

interface ReservationRequest {
  readonly memoryBytes: number;
  /** Bytes that the tenant object writes or reads. */
  readonly transferBytes: number;
  readonly owner: string;
}

/** Returns undefined if there is no room now. */
function reserveMemory(
  { memoryBytes, transferBytes, owner }: ReservationRequest,
  { tenant }: RequestScope,
): MemoryReservation | undefined {
  const reservation = MEMORY_BUDGET.createReservation(`tenant ${tenant}`);
  if (reservation.resize(memoryBytes) && takeByteRate(`${tenant} ${owner}`, transferBytes, Date.now()))
    return reservation;
  reservation.release();
  return undefined;
}

function isAnonymous({ principal }: RequestScope): boolean {
  return principal.id === ANONYMOUS.id;
}

async function ownerOf(requestScope: RequestScope): Promise<Pick<StoredResult, "owner" | "principal">> {
  const principal = await requestScope.owner();
  return { owner: JSON.stringify([principal, requestScope.profile]), principal };
}
