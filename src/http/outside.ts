// Owns what the author's own code does with a tenant where nobody calls: in `scheduled`, `queue`, a webhook. It is let in, limited
// and blocked as any caller is, under a name that none of them can have. Refuses questions: there is nobody to ask.

import { workerPrincipal, type Principal } from "../auth/principal.ts";
import { announceTo, type Announcement } from "../calls/announce.ts";
import type { ContentBlock } from "../calls/content-block.ts";
import { DEFAULT_TIMEOUT_MS } from "../calls/handle.ts";
import type { ResourceStore } from "../calls/resource-store.ts";
import { resourcesUnder } from "../content/store/view-store.ts";
import type { Deployment } from "../deployment/deployment.ts";
import type { Call } from "../protocol/call.ts";
import { AppError } from "../protocol/app-error.ts";
import { LATEST_2025 } from "../protocol/era.ts";
import { failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { UserError } from "../protocol/user-error.ts";
import { policyTables } from "../tenants/authority/policy-tables.ts";
import { remote } from "../tenants/authority/tables.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import { forgetName } from "../tenants/directory/directory.ts";
import { isTenantId } from "../tenants/document/tenant-definition.ts";
import { answer, isWithin } from "./answer.ts";
import { bodyTooLarge, mostBodyBytes, parseJson } from "./body.ts";
import { NO_SINK } from "./call-sink.ts";
import { enter } from "./enter.ts";
import { tenantAway } from "./hold-tenant.ts";
import type { Entered } from "./entered.ts";
import { findTenant } from "./find-tenant.ts";
import { limitMessages, wholly } from "./limit-messages.ts";
import { TenantError } from "./tenant-error.ts";
import { observed, Visit, type Invocation } from "./visit.ts";

/** Whom a call is made for: the principal `worker ID`. It needs no key, in whichever mode the tenant is. */
export interface NamedCaller {
  /** 1 to 200 of A-Z, a-z, 0-9 and _ . : @ / + - */
  readonly id: string;
  /** What handlers read as `ctx.principal.subject`. */
  readonly subject?: string;
  /** Names of the tenant's scopes, which limit what is seen; absent: nothing does. */
  readonly scopes?: readonly string[];
  readonly profile?: string;
}

export interface CallAs {
  readonly as: NamedCaller;
}

export interface CalledTool {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
}

/** A tenant for code outside of a call. What a request would be refused rejects with a `TenantError`. */
export interface TenantOutside {
  /** As `ctx.announce`. */
  announce(changed: Announcement): Promise<void>;
  /** As `ctx.resources`, all of them, within the tenant's limits. */
  readonly resources: ResourceStore;
  /**
   * Resolves when what the author's function said before is in force nowhere any more, streams included: at once where
   * nobody was served lately, else when the last lease has ended. For a function in `tenants`; others never change.
   */
  invalidate(): Promise<void>;
  /** Runs a tool as a request would have it run. What a tool says went wrong is a result with `isError`. */
  callTool(name: string, args: JsonObject | undefined, how: CallAs): Promise<CalledTool>;
  readResource(uri: string, how: CallAs): Promise<{ readonly contents: readonly JsonObject[] }>;
  getPrompt(
    name: string,
    args: Readonly<Record<string, string>> | undefined,
    how: CallAs,
  ): Promise<{ readonly description?: string; readonly messages: readonly JsonObject[] }>;
}

/** For what needs no view but that of everything. */
const ITSELF = workerPrincipal("itself");

const STORE_METHODS = "list get read write delete search tags uris".split(" ") as (keyof ResourceStore)[];

type Where = Pick<Invocation, "env" | "ctx"> & { readonly deployment: Deployment; readonly id: string };

export function tenantOutside(where: Where): TenantOutside {
  const call = async (method: string, params: JsonObject, { as }: CallAs): Promise<never> =>
    refusing(async () => callAs(await enterAs(where, principalOf(as), as.profile), method, params));
  const store = async () => {
    const entered = await enterAs(where, ITSELF);
    // Nothing that the author hides from callers is hidden from the author.
    const { only: _hidden, ...sight } = entered.view;
    const { kept, limits } = entered;
    return resourcesUnder({ kept, sight, limits, bodies: entered.env.BODIES }, entered.contentStub());
  };
  type Any = (...args: unknown[]) => Promise<unknown>;
  const resources = STORE_METHODS.map((name) => [
    name,
    (...args: unknown[]) => refusing(async () => inTime(((await store())[name] as Any)(...args), DEFAULT_TIMEOUT_MS)),
  ]);
  return {
    announce: (changed) =>
      refusing(async () => inTime(announceTo((await enterAs(where, ITSELF)).contentStub(), changed))),
    resources: Object.fromEntries(resources) as ResourceStore,
    invalidate: () => refusing(() => changedTenant(where)),
    callTool: (name, args, how) => call("tools/call", { name, arguments: args }, how),
    readResource: (uri, how) => call("resources/read", { uri }, how),
    getPrompt: (name, args, how) => call("prompts/get", { name, arguments: args }, how),
  };
}

/** Of scopes, too: blanks and braces tell views apart. */
const NAME = /^[\w.:@/+-]{1,200}$/;

function principalOf({ id, subject, scopes }: NamedCaller): Principal {
  for (const name of [id, ...(scopes ?? [])] as readonly unknown[]) {
    if (typeof name !== "string" || !NAME.test(name))
      throw new TypeError(`as: "${String(name)}" is no name: 1 to 200 of A-Z, a-z, 0-9, _ . : @ / + -`);
  }
  return workerPrincipal(id, { subject, scopes });
}

/** An object that is away is said as a request would be told; what its author has to change is thrown as it is. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if ([TenantError, UserError, TypeError].some((known) => error instanceof known)) throw error;
    throw Object.assign(new TenantError(error instanceof AppError ? error.toFailure() : tenantAway()), {
      cause: error,
    });
  }
}

/** Nobody is let in: perhaps there is no such tenant any more, and that is what has changed. */
async function changedTenant(where: Where): Promise<void> {
  if (!isTenantId(where.id)) return;
  const leftMs = await inTime(remote(visitOf(where, ITSELF, null).stub(), policyTables).changed());
  forgetName(where.id);
  await scheduler.wait(leftMs);
}

/** To nobody, until the tenant is found. */
function visitOf({ deployment, env, ctx, id }: Where, principal: Principal, profile: string | null): Visit {
  const request = new Request("https://tenantry.internal/outside");
  const credential = { kind: "worker", principal } as const;
  const known = failure("unknownTenant", `there is no tenant "${id}"`);
  return new Visit(deployment, observed(deployment, { request, env, ctx }), {
    tenant: id,
    profile,
    path: "",
    credential,
    known,
  });
}

/** As nobody who calls: for what the Worker does for the tenant by itself. */
export function enterItself(where: Where): Promise<Entered> {
  return enterAs(where, ITSELF);
}

async function enterAs(where: Where, principal: Principal, profile: string | null = null): Promise<Entered> {
  const visit = visitOf(where, principal, profile);
  const { knock } = visit;
  const unknown = knock.known;
  try {
    knock.known = (await findTenant(where.env, where.deployment, where.id)) ?? unknown;
  } catch (error) {
    visit.onError(error);
    throw new TenantError(tenantAway());
  }
  const entered = await enter(visit);
  if (!isFailure(entered)) return entered;
  // A client is not told this. What acts here is known, so nothing else is ever unauthorized.
  throw new TenantError(entered.error === "unauthorized" && isFailure(unknown) ? unknown : entered);
}

/** What a handler gets and gives is JSON, as if it had come from a client and gone to one. */
async function callAs(entered: Entered, method: string, params: JsonObject): Promise<never> {
  const sent = parseJson(JSON.stringify(params));
  if (isFailure(sent)) throw new TenantError(sent);
  const { visit } = entered;
  const most = Math.min(visit.mostBytes, mostBodyBytes(visit.env));
  if (!isWithin(sent.text, most)) throw new TenantError(bodyTooLarge(most));
  const call: Call = {
    dialect: LATEST_2025,
    id: 1,
    method,
    params: sent.value as JsonObject,
    capabilities: {},
    progressToken: undefined,
    logLevel: undefined,
    session: undefined,
    sink: NO_SINK,
    header: () => null,
    now: Date.now,
  };
  const limited = wholly(await limitMessages(entered, call));
  if (limited) throw new TenantError(limited);
  const { json, error: rule, retryAfter } = await answer(entered, call);
  const { result, error } = JSON.parse(json) as { result: never; error?: { message: string; data?: unknown } };
  if (rule) throw new TenantError({ ...error, error: rule, retryAfter });
  return result;
}
