// Stores errors where `tenantry errors` finds them: the details in the tenant object, and a pointer in the platform
// object. The number is limited to what an operator can read: a storm of errors must not become a storm of writes.

import type { UntypedEnv, ObservedContext } from "../../deployment/deployment.ts";
import { errorLogStore, type ErrorRecord } from "../../tenants/object/error-log-store.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { hasNamespace, namespaceOf } from "../../tenants/directory/namespaces.ts";
import { DEFAULT_PLACEMENT, tenantObjectOf } from "../../tenants/directory/placement.ts";
import { withTimeout } from "../../tenants/cache/with-timeout.ts";
import { LruMap } from "../../limits/lru-map.ts";
import { COUNTERS } from "../../telemetry/counters.ts";
import type { ErrorContext } from "../../telemetry/error-line.ts";

/**
 * Per tenant and isolate. Applies in the same way to the platform object, which all isolates write to, for all tenants
 * together.
 */
const MAX_PER_MINUTE = 20;
/** One tenant's share of these: a client that makes a tool fail again and again cannot hide other tenants' errors. */
const MAX_PER_TENANT = 10;
const MINUTE_MS = 60_000;
const MAX_TENANTS = 1_000;
/** No request waits for this write, and no invocation waits long. */
const PLATFORM_TIMEOUT_MS = 2_000;

interface MinuteCount {
  readonly minute: number;
  count: number;
}

const minuteCounts = new LruMap<MinuteCount>(MAX_TENANTS);

function countInMinute(key: string, most = MAX_PER_MINUTE): boolean {
  const minute = Math.floor(Date.now() / MINUTE_MS);
  let current = minuteCounts.get(key);
  if (current?.minute !== minute) minuteCounts.set(key, (current = { minute, count: 0 }));
  current.count += 1;
  return current.count <= most;
}

/** Matches text in an error that looks like a key of Tenantry, like a credential in a header, or like a JWT. */
const CREDENTIALS = /\b(?:tn[a-z]_\w+|bearer\s+[\w.~+/=-]+|eyJ[\w-]+\.[\w-]+\.[\w-]*)/gi;

/** Characters passed on of each text; the tables store fewer. A caller may provoke an error message of megabytes. */
const MAX_TEXT_CHARACTERS = 8_192;

/** Anything can be thrown, even a value that cannot be converted to a string. */
function redact(...parts: readonly unknown[]): string {
  try {
    return parts.map(String).join("").slice(0, MAX_TEXT_CHARACTERS).replaceAll(CREDENTIALS, "[credential]");
  } catch {
    return "an error without a readable message";
  }
}

export function toErrorRecord(error: unknown, errorContext: ErrorContext): ErrorRecord {
  const { tenant = "", requestId = "", method = "", name = "" } = errorContext;
  const { stack = "", cause } = Object(error) as { readonly stack?: unknown; readonly cause?: unknown };
  const because = cause instanceof Error ? `\ncaused by ${cause.stack}` : "";
  return { tenant, requestId, method, name, message: redact(error), stack: redact(stack, because) };
}

interface RecordingContext {
  readonly env: UntypedEnv;
  readonly context: ObservedContext | undefined;
}

/** Never rejects: the error was logged before. Errors that could not be stored are counted. */
export async function recordError(
  error: unknown,
  errorContext: ErrorContext,
  { env, context }: RecordingContext,
): Promise<void> {
  const record = toErrorRecord(error, errorContext);
  const requestScope = context?.requestScope;
  // Nothing is written under a name for which no request was authorized: there may be no such tenant.
  const isStored =
    requestScope !== undefined &&
    (await tryRecord(`tenant ${record.tenant}`, () =>
      createRpcClient(requestScope.stub(), errorLogStore).recordError(record),
    ));
  if (!hasNamespace(env, "PlatformObject")) return;
  const platform = namespaceOf(env, "PlatformObject");
  const object = () => tenantObjectOf(platform, "platform", { id: "platform", placement: DEFAULT_PLACEMENT, uid: "" });
  // Data that a jurisdiction binds to a location stays there, even if the tenant object could not be reached.
  const isBound = (context?.placement.jurisdiction ?? null) !== null;
  const pointer = isStored || isBound ? { ...record, name: "", message: "", stack: "" } : record;
  const isWithinLimit = countInMinute(
    `platform of ${record.tenant}`,
    record.tenant === "" ? MAX_PER_MINUTE : MAX_PER_TENANT,
  );
  const write = () => withTimeout(createRpcClient(object(), errorLogStore).recordError(pointer), PLATFORM_TIMEOUT_MS);
  if (isWithinLimit) await tryRecord("platform", write);
  else COUNTERS.add("errorsDropped");
}

async function tryRecord(key: string, write: () => Promise<unknown>): Promise<boolean> {
  try {
    if (countInMinute(key)) {
      await write();
      return true;
    }
  } catch {
    // Counted below. An unreachable object is reported elsewhere.
  }
  COUNTERS.add("errorsDropped");
  return false;
}
