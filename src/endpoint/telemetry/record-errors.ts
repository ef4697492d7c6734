// Owns keeping errors where `tenantry errors` finds them: in the object of their tenant, and in the platform's one what leads there.
// Refuses more of them than an operator reads: a storm of errors must not become one of writes.

import type { Bindings, ObservedContext } from "../../deployment/deployment.ts";
import { errorLogStore, type ErrorRecord } from "../../tenants/object/error-log-store.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { hasNamespace, namespaceOf } from "../../tenants/directory/namespaces.ts";
import { DEFAULT_PLACEMENT, tenantObjectOf } from "../../tenants/directory/placement.ts";
import { withTimeout } from "../../tenants/cache/with-timeout.ts";
import { LruMap } from "../../limits/lru-map.ts";
import { COUNTERS } from "../../telemetry/counters.ts";
import type { ErrorContext } from "../../telemetry/error-line.ts";

/** Of one tenant, in one isolate. The platform's object, which all isolates write to, is asked as often for all tenants. */
const MAX_PER_MINUTE = 20;
/** Of these, what one tenant takes at most: whoever makes a tool fail again and again hides nobody else's error. */
const MAX_PER_TENANT = 10;
const MINUTE_MS = 60_000;
const MAX_TENANTS = 1_000;
/** No request waits for it, and no invocation for long. */
const PLATFORM_TIMEOUT_MS = 2_000;

interface MinuteCount {
  readonly minute: number;
  count: number;
}

const minuteCounts = new LruMap<MinuteCount>(MAX_TENANTS);

function consumeQuota(quotaKey: string, most = MAX_PER_MINUTE): boolean {
  const minute = Math.floor(Date.now() / MINUTE_MS);
  let current = minuteCounts.get(quotaKey);
  if (current?.minute !== minute) minuteCounts.set(quotaKey, (current = { minute, count: 0 }));
  current.count += 1;
  return current.count <= most;
}

/** What looks like a credential of ours, like one in a header, or like a person's token, in words that an error brought along. */
const CREDENTIALS = /\b(?:tn[a-z]_\w+|bearer\s+[\w.~+/=-]+|eyJ[\w-]+\.[\w-]+\.[\w-]*)/gi;

/** Characters that are handed on of each text; the tables keep fewer. A caller may have had an error say megabytes. */
const MAX_TEXT_CHARACTERS = 8_192;

/** Of whatever was thrown, which may have no words at all. */
function redact(...parts: readonly unknown[]): string {
  try {
    return parts.map(String).join("").slice(0, MAX_TEXT_CHARACTERS).replaceAll(CREDENTIALS, "[credential]");
  } catch {
    return "an error that says nothing";
  }
}

export function toErrorRecord(error: unknown, errorContext: ErrorContext): ErrorRecord {
  const { tenant = "", requestId = "", method = "", name = "" } = errorContext;
  const { stack = "", cause } = Object(error) as { readonly stack?: unknown; readonly cause?: unknown };
  const because = cause instanceof Error ? `\ncaused by ${cause.stack}` : "";
  return { tenant, requestId, method, name, message: redact(error), stack: redact(stack, because) };
}

interface RecordingContext {
  readonly env: Bindings;
  readonly context: ObservedContext | undefined;
}

/** Never rejects: the error was logged before. What could not be kept is counted. */
export async function recordError(
  error: unknown,
  errorContext: ErrorContext,
  { env, context }: RecordingContext,
): Promise<void> {
  const record = toErrorRecord(error, errorContext);
  const requestScope = context?.requestScope;
  // Nothing is written for a name of which nobody was let in: there may be no such tenant.
  const isStored =
    requestScope !== undefined &&
    (await tryRecord(`tenant ${record.tenant}`, () =>
      createRpcClient(requestScope.stub(), errorLogStore).recordError(record),
    ));
  if (!hasNamespace(env, "PlatformObject")) return;
  const platform = namespaceOf(env, "PlatformObject");
  const object = () => tenantObjectOf(platform, "platform", { id: "platform", placement: DEFAULT_PLACEMENT, uid: "" });
  // What a tenant must keep where it is stays there, though its own object could not be reached.
  const isBound = (context?.placement.jurisdiction ?? null) !== null;
  const pointer = isStored || isBound ? { ...record, name: "", message: "", stack: "" } : record;
  const isWithinQuota = consumeQuota(
    `platform of ${record.tenant}`,
    record.tenant === "" ? MAX_PER_MINUTE : MAX_PER_TENANT,
  );
  const write = () => withTimeout(createRpcClient(object(), errorLogStore).recordError(pointer), PLATFORM_TIMEOUT_MS);
  if (isWithinQuota) await tryRecord("platform", write);
  else COUNTERS.add("errorsDropped");
}

async function tryRecord(quotaKey: string, write: () => Promise<unknown>): Promise<boolean> {
  try {
    if (consumeQuota(quotaKey)) {
      await write();
      return true;
    }
  } catch {
    // Counted below. Its keeper is away, which others hear of.
  }
  COUNTERS.add("errorsDropped");
  return false;
}
