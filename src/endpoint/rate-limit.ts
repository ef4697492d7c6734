// Owns holding what comes in against the limits: every message counts, whatever becomes of it, once and where it comes
// in. Refuses to know the numbers: src/limits does.

import type { Deployment } from "../deployment/deployment.ts";
import { resolveLimits, type EffectiveLimits } from "../limits/limit-definitions.ts";
import { failure, type ErrorKey, type Failure } from "../protocol/errors.ts";
import { MAX_BATCH } from "../protocol/classify.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { addressOf } from "../limits/address.ts";
import { DailyCalls, type DailyCaller, type DailyAuthority } from "../limits/daily-calls.ts";
import { describeLimit, RateLimiter, type PlatformRateLimiter, type LimitRejection } from "../limits/rate-limiter.ts";
import type { ConcurrencyCounter } from "../limits/concurrency-counter.ts";
import type { LimitName } from "../tenants/document/tenant-document.ts";
import type { AuthorizedRequest } from "./authorized-request.ts";
import { reportLimited } from "./rejected-calls.ts";
import type { LimitEnv, RequestContext } from "./request-context.ts";
import { limitStore, type DailyLimit } from "../limits/limit-store.ts";
import { AppError } from "../protocol/app-error.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import { withTimeout } from "../tenants/cache/with-timeout.ts";

/** One for all tenants and deployments of this isolate. Bound: twice MOST_METERS of limiter.ts. */
const limiter = new RateLimiter();

/** For one message a failure, for a batch one for each message that is over a limit; undefined: none is. */
export type RateLimitResult = Failure | readonly (Failure | undefined)[] | undefined;

/** `value`: the parsed body, whatever it is; undefined for what is no JSON, and for what has no body. */
export async function rateLimit(authorized: AuthorizedRequest, value: unknown): Promise<RateLimitResult> {
  const result = await limitAndCheckStepUp(authorized, value);
  if (result && (authorized.around ?? authorized.context.deployment.onCallCompleted))
    await reportLimited(authorized, value, result);
  return result;
}

async function limitAndCheckStepUp(authorized: AuthorizedRequest, value: unknown): Promise<RateLimitResult> {
  const result = await limitByCount(authorized, value);
  if (!authorized.document.auth) return result;
  const { requireStepUp: asks } = authorized.context.deployment.features.find((feature) => feature.requireStepUp) ?? {};
  // What wants another credential keeps all that came with it from running: an HTTP status is of the whole.
  return asks?.(authorized, value) ?? result;
}

async function limitByCount(authorized: AuthorizedRequest, value: unknown): Promise<RateLimitResult> {
  const caller = callerOf(authorized);
  const edge = edgeOf(authorized.context);
  if (Array.isArray(value) && value.length > 0)
    return limitBatch(authorized, value.slice(0, MAX_BATCH), { caller, edge });
  return toLimitFailure(authorized, await limitMessage(authorized, value, { caller, edge }));
}

interface LimitSubject {
  readonly caller: DailyCaller;
  readonly edge: PlatformRateLimiter | undefined;
}

async function limitMessage(
  authorized: AuthorizedRequest,
  message: unknown,
  { caller, edge }: LimitSubject,
): Promise<LimitRejection | undefined> {
  const tool = toolOf(authorized, message);
  const exceeded = await limiter.take(caller, tool, Date.now(), edge);
  return tool === undefined || exceeded ? exceeded : limitDaily(authorized, caller);
}

function toLimitFailure(authorized: AuthorizedRequest, exceeded: LimitRejection | undefined): Failure | undefined {
  if (exceeded) notifyLimitExceeded(authorized, exceeded);
  return createLimitFailure(exceeded);
}

async function limitBatch(
  authorized: AuthorizedRequest,
  messages: readonly unknown[],
  counted: LimitSubject,
): Promise<RateLimitResult> {
  const failures: (Failure | undefined)[] = [];
  for (const message of messages)
    failures.push(toLimitFailure(authorized, await limitMessage(authorized, message, counted)));
  return failures.some((one) => one !== undefined) ? failures : undefined;
}

/** For what is no message, of somebody of whom only the address is known. */
export async function limitAddress(
  context: RequestContext,
  created: string,
  limits: EffectiveLimits,
): Promise<Failure | undefined> {
  const caller = { tenant: context.tenant, created, id: context.clientAddress, isAnonymous: true, limits };
  return createLimitFailure(await limiter.take(caller, undefined, Date.now(), edgeOf(context)));
}

/** The failure for the whole of what was sent, where it cannot be taken in part. */
export function firstRejection(result: RateLimitResult): Failure | undefined {
  return isPerMessage(result) ? result.find((one) => one !== undefined) : result;
}

/** Whether it speaks of each message of a batch. */
export function isPerMessage(result: RateLimitResult): result is readonly (Failure | undefined)[] {
  return Array.isArray(result);
}

/** What counts the requests of this caller that run in this isolate. */
export function concurrencyOf(authorized: AuthorizedRequest): ConcurrencyCounter {
  return limiter.concurrencyOf(callerOf(authorized), Date.now());
}

/** For a limit of what is there at once. */
export function concurrencyFailure(authorized: AuthorizedRequest, name: LimitName, waitMs = 1000): Failure {
  return toLimitFailure(authorized, { name, most: authorized.limits[name], waitMs }) as Failure;
}

const COUNTED_FAILURES: ReadonlySet<ErrorKey> = new Set(["unauthorized", "unknownTenant", "forbiddenOrigin"]);

/**
 * What a caller is told whose tenant or credential is none: after too many of them only that, whichever it is. Whoever
 * asks for what exists learns nothing from the count either, because both count alike.
 */
export function toRejection(context: RequestContext, reason: Failure): Failure {
  if (!COUNTED_FAILURES.has(reason.error)) return reason;
  return (
    createLimitFailure(limiter.countRefusal(context.clientAddress, defaultLimitsOf(context.deployment), Date.now())) ??
    reason
  );
}

/** Whether nothing more is looked up for this address. */
export function checkBlockedAddress(deployment: Deployment, { headers }: Request): Failure | undefined {
  return createLimitFailure(limiter.checkRefusals(addressOf(headers), defaultLimitsOf(deployment), Date.now()));
}

/** By what the author wrote: whoever tells of a request gives it a deployment of its own. */
const defaultLimits = new WeakMap<Deployment["catalog"], EffectiveLimits>();

function defaultLimitsOf({ catalog }: Deployment): EffectiveLimits {
  let limits = defaultLimits.get(catalog);
  if (!limits) defaultLimits.set(catalog, (limits = resolveLimits(catalog.limits)));
  return limits;
}

function callerOf({ tenant, principal, context, limits, snapshot: { created } }: AuthorizedRequest): DailyCaller {
  const isAnonymous = principal.kind === "anonymous";
  return { tenant, created, id: isAnonymous ? context.clientAddress : principal.id, isAnonymous, limits };
}

/** Under the name that its source gives it: a tool has one limit under all its names. */
function toolOf({ view }: AuthorizedRequest, message: unknown): string | undefined {
  if (!isObject(message) || message.method !== "tools/call" || !isObject(message.params)) return undefined;
  const { name } = message.params;
  const item = typeof name === "string" ? view.tool(name, Date.now()) : undefined;
  return item && !isFailure(item) ? item.target.name : undefined;
}

/** What a daily limit counts: it begins anew at midnight, and not so many seconds after the first call. */
const DAY_S = 86_400;

function createLimitFailure(exceeded: undefined): undefined;
function createLimitFailure(exceeded: LimitRejection | undefined): Failure | undefined;
function createLimitFailure(exceeded: LimitRejection | undefined): Failure | undefined {
  if (!exceeded) return undefined;
  const { name, most, seconds, waitMs } = exceeded;
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000));
  const when = seconds === DAY_S ? "tomorrow, from 00:00 UTC" : `in ${retryAfter} s`;
  const message = `Too many requests: ${describeLimit(exceeded)}; try again ${when}`;
  return {
    ...failure("limited", message, { limit: name, most, retryAfter }),
    retryAfter,
    exceeded: seconds === undefined ? { name, most } : { name, most, seconds },
  };
}

const edges = new WeakMap<NonNullable<LimitEnv["RATE_LIMITS"]>, PlatformRateLimiter>();

/** A limiter that cannot be asked limits nobody: the isolate's own buckets go on. */
function edgeOf(context: RequestContext): PlatformRateLimiter | undefined {
  const { RATE_LIMITS: binding } = context.env;
  if (!binding) return undefined;
  let edge = edges.get(binding);
  if (!edge) {
    const { onError } = context.deployment.hooks;
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
  authorized: AuthorizedRequest,
  caller: DailyCaller,
): LimitRejection | undefined | Promise<LimitRejection | undefined> {
  return daily.take(caller, Date.now(), () => createDailyAuthority(authorized));
}

function createDailyAuthority(authorized: AuthorizedRequest): DailyAuthority {
  const withStoredOwner = <T extends DailyLimit>(limits: readonly T[]): Promise<T[]> =>
    Promise.all(
      limits.map(async (limit) =>
        limit.who === "" ? limit : { ...limit, who: await authorized.context.ownerOf(authorized.principal.id) },
      ),
    );
  return {
    take: async (limits) => {
      const storedLimits = await withStoredOwner(limits);
      try {
        return await withTimeout(createRpcClient(authorized.stub(), limitStore).take(storedLimits));
      } catch (error) {
        if (error instanceof AppError) throw error;
        throw new AppError("unavailable", { retryAfter: RETRY_S, cause: error });
      }
    },
    count: async (counted) =>
      withTimeout(createRpcClient(authorized.stub(), limitStore).count(await withStoredOwner(counted))),
    waitUntil: (work) => {
      authorized.waitUntil(
        work().catch((error: unknown) => {
          authorized.onError(error);
        }),
      );
    },
    sleep: (ms) => scheduler.wait(ms),
    now: () => Date.now(),
  };
}

/** Tells the features that hear of limits which one somebody met. */
export function notifyLimitExceeded(
  authorized: AuthorizedRequest,
  exceeded: Pick<LimitRejection, "name" | "most">,
): void {
  for (const { onLimitExceeded: limitMet } of authorized.context.deployment.features) limitMet?.(authorized, exceeded);
}
