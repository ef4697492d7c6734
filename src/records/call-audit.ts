// Owns the feature `callAudit()`: who called what, with which arguments as far as the tenant chose that, and what became of it,
// recorded in the tenant's authority. Refuses arguments in clear where the tenant did not ask for them.

import type { BuiltInFeature, HeardCall } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { refuseOptions } from "../protocol/members.ts";
import { remote } from "../tenants/authority/tables.ts";
import type { CallAuditDocument } from "../tenants/document/tenant-document.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import { callAuditTables } from "./call-audit-tables.ts";
import { CallBatches } from "./call-batches.ts";
import { calledOutcome, calledThing } from "./called-thing.ts";
import { MOST_ARGUMENTS, recordedArguments } from "./redacted.ts";

interface NotedCall {
  readonly how: CallAuditDocument;
  readonly args: unknown;
  readonly entry: Readonly<Record<string, unknown>>;
  /** How many it stands for. */
  times: number;
}

interface Noted {
  readonly calls: NotedCall[];
  /** Of those one stands for all of a kind, by what they have in common. */
  readonly alike: Map<string, NotedCall>;
  bytes: number;
  texts?: readonly string[];
}

/** How long what is recorded may be in the isolate alone. */
const HANDED_OVER_MS = 1_000;
const MOST_NOTED = 100;
const MOST_NOTED_BYTES = 256 * 1024;
/** While the tenant's object does not take what is noted: then what calls have in common is all that is kept of them. */
const MOST_KEPT = 1_000;
const MOST_KEPT_BYTES = 4 * 1024 * 1024;
const DEFAULT_DAYS = 30;
const HOW: readonly string[] = ["off", "digest", "redacted"];
const RECORDED: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"]);

/** Records calls for the tenants whose document has `audit`: docs/audit.md. */
export function callAudit(...options: readonly never[]): Feature {
  refuseOptions("callAudit", options);
  const batches = new CallBatches<Noted>({
    make: () => ({ calls: [], alike: new Map(), bytes: 0 }),
    send: async (stub, number, noted) => {
      noted.texts ??= await Promise.all(noted.calls.map(textOf));
      const days = noted.calls.at(-1)?.how.days ?? DEFAULT_DAYS;
      return remote(stub, callAuditTables).append(number, noted.texts, days);
    },
    afterMs: HANDED_OVER_MS,
  });
  const feature: BuiltInFeature = {
    name: "callAudit",
    heard: (heard) => {
      const { host, call } = heard;
      const how = host.document.audit;
      if (!how || how.calls === "off" || !RECORDED.has(call.method)) return undefined;
      batches.note(host, (noted) => {
        note(noted, heard, how);
        return Math.max(noted.calls.length / MOST_NOTED, noted.bytes / MOST_NOTED_BYTES);
      });
      return how.wait === true && !isLimited(heard) ? inTime(batches.flush(host)) : undefined;
    },
    checkDocument: ({ audit }) =>
      audit && !HOW.includes(audit.calls) ? [{ field: "audit.calls", rule: `is one of ${HOW.join(", ")}` }] : [],
    callAudit: (stub) => ({ page: (after) => remote(stub, callAuditTables).page(after) }),
  };
  return feature;
}

/** In the place of arguments. */
const NOT_KEPT = Symbol("arguments that are not kept");

const isLimited = ({ answer }: HeardCall) => answer.error === "limited";

function note(noted: Noted, heard: HeardCall, how: CallAuditDocument): void {
  const isCrowded = noted.calls.length >= MOST_KEPT || noted.bytes >= MOST_KEPT_BYTES;
  const entry = entryOf(heard);
  const size = heard.host.sentText?.length ?? 0;
  if (isCrowded) return noteAlike(noted, { how, args: NOT_KEPT, entry, times: 1 });
  if (isLimited(heard)) {
    return noteAlike(noted, { how, args: size > MOST_ARGUMENTS ? NOT_KEPT : argumentsOf(heard), entry, times: 1 });
  }
  noted.bytes += size;
  noted.calls.push({ how, args: argumentsOf(heard), entry, times: 1 });
}

/**
 * Who is over a limit may send as much as they like: nobody else's calls are to make room for that, and the tenant's object is
 * not to be asked for each. One entry stands for all of a kind in a batch, with the time, request and arguments of the first.
 */
function noteAlike({ calls, alike }: Noted, call: NotedCall): void {
  const key = JSON.stringify({ ...call.entry, at: "", requestId: "" });
  const known = alike.get(key);
  if (known) {
    known.times += 1;
    return;
  }
  calls.push(call);
  alike.set(key, call);
}

function argumentsOf({ call: { method, params } }: HeardCall): unknown {
  return method === "resources/read" ? { uri: params.uri } : params.arguments;
}

function entryOf(heard: HeardCall): NotedCall["entry"] {
  const { host, call, answer } = heard;
  const { name, upstream } = calledThing(heard);
  return {
    at: new Date().toISOString(),
    principal: host.principal.id,
    profile: host.profile,
    method: call.method,
    name: name === "" ? null : name,
    upstream: upstream === "" ? null : upstream,
    outcome: calledOutcome(heard),
    error: answer.error ?? null,
    requestId: host.requestId,
  };
}

async function textOf({ how, args, entry, times }: NotedCall): Promise<string> {
  const recorded = args === NOT_KEPT ? { sha256: "", bytes: 0 } : await recordedArguments(args, how);
  return JSON.stringify({ ...entry, ...(times > 1 && { times }), arguments: recorded });
}
