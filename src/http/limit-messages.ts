// Owns holding what comes in against the limits: every message counts, whatever becomes of it, once and where it comes
// in. Refuses to know the numbers: src/limits does.

import type { Deployment } from "../deployment/deployment.ts";
import { limitsInForce, type LimitsInForce } from "../limits/limit-table.ts";
import type { Failure } from "../protocol/errors.ts";
import { failure } from "../protocol/errors.ts";
import { MAX_BATCH } from "../protocol/classify.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { addressOf } from "../limits/address.ts";
import { describeMet, Limiter, type LimitedCaller, type Edge, type Met } from "../limits/limiter.ts";
import type { InUse } from "../limits/in-use.ts";
import type { LimitName } from "../tenants/document/tenant-document.ts";
import type { Entered } from "./entered.ts";
import type { LimitEnv, Visit } from "./visit.ts";

/** One for all tenants and deployments of this isolate. */
const limiter = new Limiter();

/** For one message a failure, for a batch one for each message that is over a limit; undefined: none is. */
export type Limited = Failure | readonly (Failure | undefined)[] | undefined;

/** `value`: the parsed body, whatever it is. */
export function limitMessages(entered: Entered, value: unknown): Limited | Promise<Limited> {
  const caller = callerOf(entered);
  const edge = edgeOf(entered.visit);
  if (Array.isArray(value)) return limitBatch(entered, caller, value.slice(0, MAX_BATCH), edge);
  return settle(limiter.take(caller, toolOf(entered, value), Date.now(), edge), limitFailure);
}

async function limitBatch(
  entered: Entered,
  caller: LimitedCaller,
  messages: readonly unknown[],
  edge: Edge | undefined,
): Promise<Limited> {
  const over: (Failure | undefined)[] = [];
  for (const message of messages) {
    over.push(limitFailure(await limiter.take(caller, toolOf(entered, message), Date.now(), edge)));
  }
  return over.some((one) => one !== undefined) ? over : undefined;
}

/** The failure for the whole of what was sent, where it cannot be taken in part. */
export function wholly(limited: Limited): Failure | undefined {
  return Array.isArray(limited) ? limited.find((one) => one !== undefined) : (limited as Failure | undefined);
}

/** What counts the requests of this caller that run in this isolate. */
export function runningOf(entered: Entered): InUse {
  return limiter.running(callerOf(entered), Date.now());
}

/** For a limit of what is there at once. */
export function atOnceFailure(name: LimitName, most: number, waitMs = 1000): Failure {
  return limitFailure({ name, most, waitMs }) as Failure;
}

/**
 * What a caller is told whose tenant or credential is none: after too many of them only that, whichever it is. Whoever
 * asks for what exists learns nothing from the count either, because both count alike.
 */
export function refusal(visit: Visit, why: Failure): Failure {
  if (why.error !== "unauthorized" && why.error !== "unknownTenant") return why;
  return limitFailure(limiter.refuse(visit.address, limitsOfAuthor(visit.deployment), Date.now())) ?? why;
}

/** Whether nothing more is looked up for this address. */
export function refusedAddress(deployment: Deployment, { headers }: Request): Failure | undefined {
  return limitFailure(limiter.isRefused(addressOf(headers), limitsOfAuthor(deployment), Date.now()));
}

const byAuthor = new WeakMap<Deployment, LimitsInForce>();

function limitsOfAuthor(deployment: Deployment): LimitsInForce {
  let limits = byAuthor.get(deployment);
  if (!limits) byAuthor.set(deployment, (limits = limitsInForce(deployment.catalog.limits)));
  return limits;
}

export function callerOf({ tenant, principal, visit, limits }: Entered): LimitedCaller {
  const isAnonymous = principal.kind === "anonymous";
  return { tenant, id: isAnonymous ? visit.address : principal.id, isAnonymous, limits };
}

/** Under the name that its source gives it: a tool has one limit under all its names. */
function toolOf({ view }: Entered, message: unknown): string | undefined {
  if (!isObject(message) || message.method !== "tools/call" || !isObject(message.params)) return undefined;
  const { name } = message.params;
  const found = typeof name === "string" ? view.tool(name, Date.now()) : undefined;
  return found && !isFailure(found) ? found.target.name : undefined;
}

function limitFailure(met: undefined): undefined;
function limitFailure(met: Met | undefined): Failure | undefined;
function limitFailure(met: Met | undefined): Failure | undefined {
  if (!met) return undefined;
  const { name, most, seconds, waitMs } = met;
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000));
  const message = `Too many requests: ${describeMet(met)}; try again in ${retryAfter} s`;
  return {
    ...failure("limited", message, { limit: name, most, retryAfter }),
    retryAfter,
    met: seconds === undefined ? { name, most } : { name, most, seconds },
  };
}

function settle<T, R>(value: T | Promise<T>, then: (value: T) => R): R | Promise<R> {
  return value instanceof Promise ? value.then(then) : then(value);
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
