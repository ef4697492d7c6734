// Counts incoming messages against the limits. Every message counts once, on arrival, whatever becomes of it. The
// numbers are in src/limits.

import type { Deployment } from "../deployment/deployment.ts";
import { resolveLimits, type EffectiveLimits } from "../limits/limit-definitions.ts";
import { failure, type ErrorKey, type Failure } from "../protocol/errors.ts";
import { MAX_BATCH } from "../protocol/classify.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { addressOf, hashAddress } from "../limits/address.ts";
import { ADDRESS, DailyCalls, type DailyCaller, type DailyAuthority } from "../limits/daily-calls.ts";
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

/** Shared by all tenants and deployments of this isolate. Bound: twice MAX_METERS of rate-limiter.ts. */
const limiter = new RateLimiter();

/**
 * One message: a failure. A batch: one for each message that is over a limit. undefined: no message is over a limit.
 */
export type RateLimitResult = Failure | readonly (Failure | undefined)[] | undefined;

/** `value`: the parsed body; undefined for invalid JSON and for requests without a body. */
export async function rateLimit(authorized: AuthorizedRequest, value: unknown): Promise<RateLimitResult> {
  const result = await limitAndCheckStepUp(authorized, value);
  if (result && (authorized.around ?? authorized.context.deployment.onCallCompleted))
    await reportLimited(authorized, value, result);
  return result;
}

async function limitAndCheckStepUp(authorized: AuthorizedRequest, value: unknown): Promise<RateLimitResult> {
  const result = await limitByCount(authorized, value);
  // A caller over a limit gets no challenge: guesses of hidden tools count, too.
  if (result || !authorized.document.auth) return result;
  const { requireStepUp } = authorized.context.deployment.features.find((feature) => feature.requireStepUp) ?? {};
  // A request for another credential has an HTTP status, which applies to the whole body: nothing in it runs.
  return requireStepUp?.(authorized, value);
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

/** Counts a request that is not a message, by the caller's address alone. */
export async function limitAddress(
  context: RequestContext,
  created: string,
  limits: EffectiveLimits,
): Promise<Failure | undefined> {
  const caller = { tenant: context.tenant, created, id: context.clientAddress, isAnonymous: true, limits };
  return createLimitFailure(await limiter.take(caller, undefined, Date.now(), edgeOf(context)));
}

/** The failure for the whole body, where it cannot be accepted in part. */
export function firstRejection(result: RateLimitResult): Failure | undefined {
  return isPerMessage(result) ? result.find((one) => one !== undefined) : result;
}

/** Whether the result has one entry for each message of a batch. */
export function isPerMessage(result: RateLimitResult): result is readonly (Failure | undefined)[] {
  return Array.isArray(result);
}

/** Counts the caller's requests that run in this isolate. */
export function concurrencyOf(authorized: AuthorizedRequest): ConcurrencyCounter {
  return limiter.concurrencyOf(callerOf(authorized), Date.now());
}

/** The failure for a limit on concurrent use. */
export function concurrencyFailure(authorized: AuthorizedRequest, name: LimitName, waitMs = 1000): Failure {
  return toLimitFailure(authorized, { name, most: authorized.limits[name], waitMs }) as Failure;
}

const COUNTED_FAILURES: ReadonlySet<ErrorKey> = new Set(["unauthorized", "unknownTenant", "forbiddenOrigin"]);

/**
 * The response for an unknown tenant or credential. After too many of them, the response is the same for both. Counting
 * reveals nothing about which tenants exist, because both count alike.
 */
export function countRefusal(context: RequestContext, reason: Failure): Failure {
  if (!COUNTED_FAILURES.has(reason.error)) return reason;
  return (
    createLimitFailure(limiter.countRefusal(context.clientAddress, defaultLimitsOf(context.deployment), Date.now())) ??
    reason
  );
}

/** A failure if this address has had too many rejections; then nothing more is looked up for it. */
export function checkBlockedAddress(deployment: Deployment, { headers }: Request): Failure | undefined {
  return createLimitFailure(limiter.checkRefusals(addressOf(headers), defaultLimitsOf(deployment), Date.now()));
}

/** Keyed by the catalog: a feature that records requests gives each request a deployment of its own. */
const defaultLimits = new WeakMap<Deployment["catalog"], EffectiveLimits>();

function defaultLimitsOf({ catalog }: Deployment): EffectiveLimits {
  let limits = defaultLimits.get(catalog);
  if (!limits) defaultLimits.set(catalog, (limits = resolveLimits(catalog.limits)));
  return limits;
}

function callerOf({ tenant, principal, context, limits, cachedPolicy: { created } }: AuthorizedRequest): DailyCaller {
  const isAnonymous = principal.kind === "anonymous";
  return { tenant, created, id: isAnonymous ? context.clientAddress : principal.id, isAnonymous, limits };
}

/** The tool's name in its source: a tool has one limit under all its names. */
function toolOf({ view }: AuthorizedRequest, message: unknown): string | undefined {
  if (!isObject(message) || message.method !== "tools/call" || !isObject(message.params)) return undefined;
  const { name } = message.params;
  const item = typeof name === "string" ? view.tool(name, Date.now()) : undefined;
  return item && !isFailure(item) ? item.target.name : undefined;
}

/** The window of a daily limit, which starts anew at midnight UTC, not a day after the first call. */
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

/** If the platform's limiter fails, it limits nobody; the isolate's own buckets still apply. */
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

/** Shared by all tenants of this isolate. Bound: MAX_COUNTS of daily-calls.ts. */
const daily = new DailyCalls();
const RETRY_S = 5;

/** Counts one call of a tool towards the daily limits. */
export function limitDaily(
  authorized: AuthorizedRequest,
  caller: DailyCaller,
): LimitRejection | undefined | Promise<LimitRejection | undefined> {
  return daily.take(caller, Date.now(), () => createDailyAuthority(authorized));
}

/** A report has the counts of several callers. */
function withStoredCallers<T extends DailyLimit>(limits: readonly T[]): Promise<T[]> {
  return Promise.all(
    limits.map(async (limit) =>
      limit.caller.startsWith(ADDRESS)
        ? { ...limit, caller: await hashAddress(limit.caller.slice(ADDRESS.length)) }
        : limit,
    ),
  );
}

function createDailyAuthority(authorized: AuthorizedRequest): DailyAuthority {
  return {
    take: async (limits) => {
      const storedLimits = await withStoredCallers(limits);
      try {
        return await withTimeout(createRpcClient(authorized.stub(), limitStore).take(storedLimits));
      } catch (error) {
        if (error instanceof AppError) throw error;
        throw new AppError("unavailable", { retryAfter: RETRY_S, cause: error });
      }
    },
    count: async (counted) =>
      withTimeout(createRpcClient(authorized.stub(), limitStore).count(await withStoredCallers(counted))),
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

/** Reports an exceeded limit to the features that observe limits. */
export function notifyLimitExceeded(
  authorized: AuthorizedRequest,
  exceeded: Pick<LimitRejection, "name" | "most">,
): void {
  for (const { onLimitExceeded } of authorized.context.deployment.features) onLimitExceeded?.(authorized, exceeded);
}
