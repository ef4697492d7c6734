// The feature `callAudit()`. It records calls in the tenant object: the caller, the call, its outcome, and its
// arguments as far as the tenant chose. Arguments are recorded in clear only if the tenant's document says so.

import type { BuiltInFeature, CompletedCall } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { assertNoOptions } from "../protocol/members.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import type { CallAuditDocument } from "../tenants/document/tenant-document.ts";
import { withTimeout } from "../tenants/cache/with-timeout.ts";
import { callAuditStore } from "./call-audit-store.ts";
import { CallBatches } from "./call-batches.ts";
import { recordedOutcomeOf, callTargetOf } from "./call-target.ts";
import { MAX_ARGUMENT_CHARACTERS, toRecordedArguments } from "./redact-arguments.ts";

interface BufferedCall {
  readonly settings: CallAuditDocument;
  readonly args: unknown;
  readonly entry: Readonly<Record<string, unknown>>;
  /** How many calls the entry stands for. */
  times: number;
}

interface AuditBuffer {
  readonly calls: BufferedCall[];
  /** Entries that stand for all calls of a kind, by their common properties. */
  readonly similar: Map<string, BufferedCall>;
  bytes: number;
  texts?: readonly string[];
}

/** How long a record may exist only in the isolate. */
const FLUSH_AFTER_MS = 1_000;
const FULL_CALLS = 100;
const FULL_BYTES = 256 * 1024;
/** The most that is buffered while the tenant object accepts nothing. Beyond it, similar calls share one entry. */
const MAX_BUFFERED = 1_000;
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;
const DEFAULT_DAYS = 30;
const AUDIT_LEVELS: readonly string[] = ["off", "digest", "redacted"];
const RECORDED_METHODS: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"]);

/**
 * Records calls of each tenant whose document has `audit`: caller, tool, outcome and arguments. Records are kept in the
 * tenant object. See `node_modules/tenantry/docs/audit.md`.
 */
export function callAudit(...options: readonly never[]): Feature {
  assertNoOptions("callAudit", options);
  const batches = new CallBatches<AuditBuffer>({
    createBatch: () => ({ calls: [], similar: new Map(), bytes: 0 }),
    send: async (stub, batchId, buffer) => {
      buffer.texts ??= await Promise.all(buffer.calls.map(textOf));
      const days = buffer.calls.at(-1)?.settings.days ?? DEFAULT_DAYS;
      return createRpcClient(stub, callAuditStore).append(batchId, buffer.texts, days);
    },
    afterMs: FLUSH_AFTER_MS,
  });
  const feature: BuiltInFeature = {
    name: "callAudit",
    onCallCompleted: (completed) => {
      const { requestScope, call } = completed;
      const settings = requestScope.document.audit;
      if (!settings || settings.calls === "off" || !RECORDED_METHODS.has(call.method)) return undefined;
      batches.add(requestScope, (buffer) => {
        bufferCall(buffer, completed, settings);
        return Math.max(buffer.calls.length / FULL_CALLS, buffer.bytes / FULL_BYTES);
      });
      return settings.wait === true && !wasRateLimited(completed)
        ? withTimeout(batches.flush(requestScope))
        : undefined;
    },
    checkDocument: ({ audit }) =>
      audit && !AUDIT_LEVELS.includes(audit.calls)
        ? [{ field: "audit.calls", rule: `must be one of ${AUDIT_LEVELS.join(", ")}` }]
        : [],
    callAudit: (stub) => ({ page: (after) => createRpcClient(stub, callAuditStore).page(after) }),
  };
  return feature;
}

/** Stands for arguments that are not recorded. */
const OMITTED_ARGUMENTS = Symbol("arguments that are not kept");

const wasRateLimited = ({ response }: CompletedCall) => response.error === "limited";

function bufferCall(buffer: AuditBuffer, completed: CompletedCall, settings: CallAuditDocument): void {
  const isFull = buffer.calls.length >= MAX_BUFFERED || buffer.bytes >= MAX_BUFFERED_BYTES;
  const entry = entryOf(completed);
  const size = completed.requestScope.sentText?.length ?? 0;
  if (isFull) return bufferSimilarCall(buffer, { settings, args: OMITTED_ARGUMENTS, entry, times: 1 });
  if (wasRateLimited(completed)) {
    return bufferSimilarCall(buffer, {
      settings,
      args: size > MAX_ARGUMENT_CHARACTERS ? OMITTED_ARGUMENTS : argumentsOf(completed),
      entry,
      times: 1,
    });
  }
  buffer.bytes += size;
  buffer.calls.push({ settings, args: argumentsOf(completed), entry, times: 1 });
}

/**
 * A caller over a limit can send any number of calls. They must not displace the records of others, and the tenant
 * object must not be called for each. One entry stands for all calls of a kind in a batch, with the time, request id
 * and arguments of the first.
 */
function bufferSimilarCall({ calls, similar }: AuditBuffer, call: BufferedCall): void {
  const key = JSON.stringify({ ...call.entry, at: "", requestId: "" });
  const known = similar.get(key);
  if (known) {
    known.times += 1;
    return;
  }
  calls.push(call);
  similar.set(key, call);
}

function argumentsOf({ call: { method, params } }: CompletedCall): unknown {
  return method === "resources/read" ? { uri: params.uri } : params.arguments;
}

function entryOf(completed: CompletedCall): BufferedCall["entry"] {
  const { requestScope, call, response } = completed;
  const { name, upstream } = callTargetOf(completed);
  return {
    at: new Date().toISOString(),
    principal: requestScope.principal.id,
    profile: requestScope.profile,
    method: call.method,
    name: name === "" ? null : name,
    upstream: upstream === "" ? null : upstream,
    outcome: recordedOutcomeOf(completed),
    error: response.error ?? null,
    requestId: requestScope.requestId,
  };
}

async function textOf({ settings, args, entry, times }: BufferedCall): Promise<string> {
  const recorded = args === OMITTED_ARGUMENTS ? { sha256: "", bytes: 0 } : await toRecordedArguments(args, settings);
  return JSON.stringify({ ...entry, ...(times > 1 && { times }), arguments: recorded });
}
