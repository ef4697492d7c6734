// Owns holding what comes in against the limits: every message counts, whatever becomes of it, once and where it comes
// in. Refuses to know the numbers: src/limits does.

import type { Deployment } from "../deployment/deployment.ts";
import { limitsInForce, type LimitsInForce } from "../limits/limit-table.ts";
import { failure, type ErrorKey, type Failure } from "../protocol/errors.ts";
import { MAX_BATCH } from "../protocol/classify.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { addressOf } from "../limits/address.ts";
import { DailyCalls, type DailyCaller, type DailyAuthority } from "../limits/daily-calls.ts";
import { describeMet, Limiter, type Edge, type LimitMet } from "../limits/limiter.ts";
import type { InUse } from "../limits/in-use.ts";
import type { LimitName } from "../tenants/document/tenant-document.ts";
import type { Entered } from "./entered.ts";
import { tellLimited } from "./refused-calls.ts";
import type { LimitEnv, Visit } from "./visit.ts";
import { limitTables, type DailyLimit } from "../limits/limit-tables.ts";
import { AppError } from "../protocol/app-error.ts";
import { remote } from "../tenants/authority/tables.ts";
import { inTime } from "../tenants/isolate/in-time.ts";

/** One for all tenants and deployments of this isolate. Bound: twice MOST_METERS of limiter.ts. */
const limiter = new Limiter();

/** For one message a failure, for a batch one for each message that is over a limit; undefined: none is. */
export type Limited = Failure | readonly (Failure | undefined)[] | undefined;

/** `value`: the parsed body, whatever it is; undefined for what is no JSON, and for what has no body. */
export async function limitMessages(entered: Entered, value: unknown): Promise<Limited> {
  const limited = await takeMessages(entered, value);
  if (limited && (entered.around ?? entered.visit.deployment.heard)) await tellLimited(entered, value, limited);
  return limited;
}

async function takeMessages(entered: Entered, value: unknown): Promise<Limited> {
  const limited = await countMessages(entered, value);
  if (!entered.document.auth) return limited;
  const { asks } = entered.visit.deployment.features.find((feature) => feature.asks) ?? {};
  // What wants another credential keeps all that came with it from running: an HTTP status is of the whole.
  return asks?.(entered, value) ?? limited;
}

async function countMessages(entered: Entered, value: unknown): Promise<Limited> {
  const caller = callerOf(entered);
  const edge = edgeOf(entered.visit);
  if (Array.isArray(value) && value.length > 0) return limitBatch(entered, value.slice(0, MAX_BATCH), { caller, edge });
  return failOf(entered, await limitMessage(entered, value, { caller, edge }));
}

interface Counted {
  readonly caller: DailyCaller;
  readonly edge: Edge | undefined;
}

async function limitMessage(
  entered: Entered,
  message: unknown,
  { caller, edge }: Counted,
): Promise<LimitMet | undefined> {
  const tool = toolOf(entered, message);
  const met = await limiter.take(caller, tool, Date.now(), edge);
  return tool === undefined || met ? met : limitDaily(entered, caller);
}

function failOf(entered: Entered, met: LimitMet | undefined): Failure | undefined {
  if (met) tellMet(entered, met);
  return limitFailure(met);
}

async function limitBatch(entered: Entered, messages: readonly unknown[], counted: Counted): Promise<Limited> {
  const over: (Failure | undefined)[] = [];
  for (const message of messages) over.push(failOf(entered, await limitMessage(entered, message, counted)));
  return over.some((one) => one !== undefined) ? over : undefined;
}

/** For what is no message, of somebody of whom only the address is known. */
export async function limitAddress(visit: Visit, created: string, limits: LimitsInForce): Promise<Failure | undefined> {
  const caller = { tenant: visit.tenant, created, id: visit.address, isAnonymous: true, limits };
  return limitFailure(await limiter.take(caller, undefined, Date.now(), edgeOf(visit)));
}

/** The failure for the whole of what was sent, where it cannot be taken in part. */
export function wholly(limited: Limited): Failure | undefined {
  return isEach(limited) ? limited.find((one) => one !== undefined) : limited;
}

/** Whether it speaks of each message of a batch. */
export function isEach(limited: Limited): limited is readonly (Failure | undefined)[] {
  return Array.isArray(limited);
}

/** What counts the requests of this caller that run in this isolate. */
export function runningOf(entered: Entered): InUse {
  return limiter.running(callerOf(entered), Date.now());
}

/** For a limit of what is there at once. */
export function atOnceFailure(entered: Entered, name: LimitName, waitMs = 1000): Failure {
  return failOf(entered, { name, most: entered.limits[name], waitMs }) as Failure;
}

const COUNTED: ReadonlySet<ErrorKey> = new Set(["unauthorized", "unknownTenant", "forbiddenOrigin"]);

/**
 * What a caller is told whose tenant or credential is none: after too many of them only that, whichever it is. Whoever
 * asks for what exists learns nothing from the count either, because both count alike.
 */
export function refusal(visit: Visit, why: Failure): Failure {
  if (!COUNTED.has(why.error)) return why;
  return limitFailure(limiter.refuse(visit.address, limitsOfAuthor(visit.deployment), Date.now())) ?? why;
}

/** Whether nothing more is looked up for this address. */
export function refusedAddress(deployment: Deployment, { headers }: Request): Failure | undefined {
  return limitFailure(limiter.isRefused(addressOf(headers), limitsOfAuthor(deployment), Date.now()));
}

/** By what the author wrote: whoever tells of a request gives it a deployment of its own. */
const byAuthor = new WeakMap<Deployment["catalog"], LimitsInForce>();

function limitsOfAuthor({ catalog }: Deployment): LimitsInForce {
  let limits = byAuthor.get(catalog);
  if (!limits) byAuthor.set(catalog, (limits = limitsInForce(catalog.limits)));
  return limits;
}

function callerOf({ tenant, principal, visit, limits, snapshot: { created } }: Entered): DailyCaller {
  const isAnonymous = principal.kind === "anonymous";
  return { tenant, created, id: isAnonymous ? visit.address : principal.id, isAnonymous, limits };
}

/** Under the name that its source gives it: a tool has one limit under all its names. */
function toolOf({ view }: Entered, message: unknown): string | undefined {
  if (!isObject(message) || message.method !== "tools/call" || !isObject(message.params)) return undefined;
  const { name } = message.params;
  const found = typeof name === "string" ? view.tool(name, Date.now()) : undefined;
  return found && !isFailure(found) ? found.target.name : undefined;
}

/** What a daily limit counts: it begins anew at midnight, and not so many seconds after the first call. */
const DAY_S = 86_400;

function limitFailure(met: undefined): undefined;
function limitFailure(met: LimitMet | undefined): Failure | undefined;
function limitFailure(met: LimitMet | undefined): Failure | undefined {
  if (!met) return undefined;
  const { name, most, seconds, waitMs } = met;
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000));
  const when = seconds === DAY_S ? "tomorrow, from 00:00 UTC" : `in ${retryAfter} s`;
  const message = `Too many requests: ${describeMet(met)}; try again ${when}`;
  return {
    ...failure("limited", message, { limit: name, most, retryAfter }),
    retryAfter,
    met: seconds === undefined ? { name, most } : { name, most, seconds },
  };
}

const edges = new WeakMap<NonNullable<LimitEnv["RATE_LIMITS"]>, Edge>();

/** A limiter that cannot be asked limits nobody: the isolate's own buckets go on. */
function edgeOf(visit: Visit): Edge | undefined {
  const { RATE_LIMITS: binding } = visit.env;
  if (!binding) return undefined;
  let edge = edges.get(binding);
  if (!edge) {
    const { onError } = visit.deployment.hooks;
    edge = async (key) => {
      try {
        return (await binding.limit({ key })).success;
      } catch (error) {
        onError?.(error, undefined);
        return true;
      }
    };
    edges.set(binding, edge);
  }
  return edge;
}

/** One for all tenants of this isolate. Bound: MOST_COUNTS of daily-calls.ts. */
const daily = new DailyCalls();
const RETRY_S = 5;

/** Counts one call of a tool towards the day. */
export function limitDaily(
  entered: Entered,
  caller: DailyCaller,
): LimitMet | undefined | Promise<LimitMet | undefined> {
  return daily.take(caller, Date.now(), () => authorityOf(entered));
}

function authorityOf(entered: Entered): DailyAuthority {
  const stored = <T extends DailyLimit>(limits: readonly T[]): Promise<T[]> =>
    Promise.all(
      limits.map(async (limit) =>
        limit.who === "" ? limit : { ...limit, who: await entered.visit.ownerOf(entered.principal.id) },
      ),
    );
  return {
    take: async (limits) => {
      const asked = await stored(limits);
      try {
        return await inTime(remote(entered.stub(), limitTables).take(asked));
      } catch (error) {
        if (error instanceof AppError) throw error;
        throw new AppError("unavailable", { retryAfter: RETRY_S, cause: error });
      }
    },
    count: async (counted) => inTime(remote(entered.stub(), limitTables).count(await stored(counted))),
    later: (work) => {
      entered.waitUntil(
        work().catch((error: unknown) => {
          entered.onError(error);
        }),
      );
    },
    sleep: (ms) => scheduler.wait(ms),
    now: () => Date.now(),
  };
}

/** Tells the features that hear of limits which one somebody met. */
export function tellMet(entered: Entered, met: Pick<LimitMet, "name" | "most">): void {
  for (const { limitMet } of entered.visit.deployment.features) limitMet?.(entered, met);
}
