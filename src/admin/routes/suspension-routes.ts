// Owns the routes for suspensions: of a tenant, or of a profile, a principal or a tool in it. In force when
// acknowledged.

import { ANONYMOUS } from "../../auth/principal.ts";
import { mergeDocuments, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import { isGone } from "../../tenants/authority/incarnation.ts";
import { inTime } from "../../tenants/isolate/in-time.ts";
import type { TenantRecord, WriteResult } from "../../tenants/authority/policy-records.ts";
import type { Suspender } from "../../tenants/authority/policy-calls.ts";
import { catalogNames } from "../apply/tenant-offer.ts";
import type { SuspensionKind, Infer } from "../contract.ts";
import { acknowledge } from "../apply/acknowledge.ts";
import { suspendLate } from "../apply/suspend-late.ts";
import { holdResumed, onItsWay, rolloutsOf, withBlocks } from "../apply/stopped-everywhere.ts";
import { pageOfAll } from "../page.ts";
import { invalidFields, ProblemError } from "../problem.ts";
import { routes, type RouteAnswer, type Desk } from "../route.ts";

import { findManaged, readRecord, type Managed } from "../apply/tenant-access.ts";
import { SUSPENSION_ENDPOINTS } from "../endpoints/access-endpoints.ts";

/** Whom the Worker's own code names outside of a call: nobody has a list of them either. */
const WORKER_ID = /^worker [\w.:@/+-]{1,200}$/;

type Kind = Infer<typeof SuspensionKind>;

export const suspensionRoutes = routes(SUSPENSION_ENDPOINTS, {
  "GET /tenants/{id}/suspensions": async (call) => {
    const managed = await findManaged(call, call.params.id);
    const record = await readRecord(managed);
    const coming = (await onItsWay(call.env, managed, record)).map((one) => ({ ...one, onItsWay: true }));
    return { body: pageOfAll("suspensions", [...coming, ...withBlocks(record).suspensions], call.query) };
  },
  "POST /tenants/{id}/suspensions": async (call) => {
    const { kind, name = "", note } = call.body;
    checkRole(call, kind);
    if (kind === "tenant" && call.body.name !== undefined) throw invalidFields(["name", "a tenant has none here"]);
    if (kind === "tenant") return suspendTenant(call, call.params.id, note);
    if (name === "") throw invalidFields(["name", `says which ${kind}`]);
    const managed = await findManaged(call, call.params.id);
    const of = await nameOf(call, managed, kind, name);
    const done = await managed.policy.suspend({ kind, name: of, note }, suspender(call));
    if (done.state === "full") throw new ProblemError("conflict", { detail: "The tenant has too many suspensions" });
    return acknowledge(managed, done, call);
  },
  "DELETE /tenants/{id}/suspensions/{kind}": async (call) => {
    const { id, kind } = call.params;
    if (kind !== "tenant") throw invalidFields(["kind", `a ${kind} is resumed by its name`]);
    return resume(call, id, kind, "");
  },
  "DELETE /tenants/{id}/suspensions/{kind}/{name}": async (call) => {
    const { id, kind, name } = call.params;
    if (kind === "tenant") throw invalidFields(["name", "a tenant has none here"]);
    return resume(call, id, kind, kind === "principal" && KEY_ID.test(name) ? `key ${name}` : name);
  },
});

/** A tenant-admin must not suspend the whole tenant, because only an operator could resume it. */
function checkRole({ caller }: Desk, kind: Kind): void {
  if (kind === "tenant" && caller.role === "tenant-admin") {
    throw new ProblemError("forbidden", { detail: "Only an operator suspends a whole tenant" });
  }
}

const KEY_ID = /^[0-9A-Za-z]{10}$/;

/** The name to suspend. Refuses one that nothing has: it would seem suspended. A key may be named by its id alone. */
async function nameOf(desk: Desk, managed: Managed, kind: Exclude<Kind, "tenant">, name: string): Promise<string> {
  const record = await readRecord(managed);
  switch (kind) {
    case "profile": {
      const { profiles = {} } = mergeDocuments([managed.tenant.base, record.effective]);
      if (!Object.hasOwn(profiles, name)) throw invalidFields(["name", `there is no profile ${name}`]);
      return name;
    }
    case "tool": {
      const found = await toolNamed(desk, managed, record, name);
      if (found === undefined) throw invalidFields(["name", `there is no tool ${name}`]);
      return found;
    }
    case "principal":
      return principalOf(desk, managed, record, name);
  }
}

/** The policy name of a tool, also where `name` is the one under which it is listed. */
async function toolNamed(desk: Desk, managed: Managed, record: TenantRecord, name: string) {
  const { tools, search, listed } = await catalogNames(desk, managed, record);
  return [name, listed?.get(name)].find((one) => one !== undefined && [...tools, ...search].includes(one));
}

async function principalOf({ options }: Desk, { policy, tenant }: Managed, record: TenantRecord, name: string) {
  const id = KEY_ID.test(name) ? `key ${name}` : name;
  if (id === ANONYMOUS.id || (id.startsWith("key ") && (await policy.key(id.slice("key ".length))))) return id;
  const isUser = options.catalog.isPrivate === true && /^app ./.test(id);
  if (isUser || isPerson(id, mergeDocuments([tenant.base, record.effective]))) return withRoom(record, id);
  const known = `"${ANONYMOUS.id}", a key's id, "app ID", "oauth ISSUER SUBJECT" or "worker NAME"`;
  throw invalidFields(["name", `there is no principal ${name}: ${known}`]);
}

/** Whoever an issuer of the tenant may name, or may sign in to it: nobody has a list of them, nor of an app's users. */
function isPerson(id: string, { auth: { issuers = [], login } = {} }: TenantDocument): boolean {
  if (WORKER_ID.test(id)) return true;
  const [, issuer, subject] = /^oauth (\S+) (.)/.exec(id) ?? [];
  const urls = [login?.authorizeUrl, login?.productUrl];
  const isNamed = [...issuers, login].some((one) => one?.issuer === issuer);
  // Of what has no issuer, the origin stands for one.
  return subject !== undefined && (isNamed || urls.some((url) => `${url}/`.startsWith(`${issuer}/`)));
}

/** All that is suspended is in every lease. */
const MOST_PERSONS = 1000;

function withRoom({ suspensions }: TenantRecord, id: string): string {
  const persons = suspensions.filter(({ name }) => /^(?:app|oauth|worker) /.test(name) && name !== id);
  if (persons.length < MOST_PERSONS) return id;
  throw invalidFields([
    "name",
    `${MOST_PERSONS} are suspended already whom issuers or code name: take them away there`,
  ]);
}

const ANSWERED_WITHIN_MS = 1000;

/** By its own object. Where that does not answer, it is on its way there. */
async function suspendTenant(desk: Desk, id: string, note: string): Promise<RouteAnswer> {
  const suspended = await inTime(suspendOwn(desk, id, note), ANSWERED_WITHIN_MS).catch((error: unknown) => {
    if (error instanceof ProblemError || isGone(error)) throw error;
    desk.options.onError?.(error);
    return undefined;
  });
  if (!suspended) return suspendLate(desk, id, note);
  return acknowledge(suspended.managed, suspended.done, desk);
}

async function suspendOwn(desk: Desk, id: string, note: string) {
  const managed = await findManaged(desk, id);
  await readRecord(managed);
  // Only those of a tenant's own administrator can be too many.
  const done = await managed.policy.suspend({ kind: "tenant", name: "", note }, suspender(desk));
  return { managed, done: done as WriteResult };
}

async function resume(desk: Desk, id: string, kind: Kind, name: string): Promise<RouteAnswer> {
  const managed = await findManaged(desk, id);
  const record = await readRecord(managed);
  const of = kind === "tool" ? await toolNamed(desk, managed, record, name) : undefined;
  if (kind === "tool") await holdResumed(desk, managed, record, of ?? name);
  if (kind === "tool") refuseBlocked(record, of ?? name);
  const created = managed.entry === null ? "" : managed.created;
  const late = kind === "tenant" ? await rolloutsOf(desk.env).resumed(id, created) : undefined;
  const done = await managed.policy.resume(kind, of ?? name, suspender(desk), late?.version);
  if (done.state === "forbidden") throw new ProblemError("forbidden", { detail: "An operator suspended this" });
  const answer = await acknowledge(managed, done);
  return late?.changed ? { body: { ...(answer.body as object), changed: true } } : answer;
}

/** What is blocked in every tenant is let go in every tenant, or nowhere. */
function refuseBlocked({ suspensions, blocks }: TenantRecord, name: string): void {
  const isOwn = suspensions.some((one) => one.kind === "tool" && one.name === name);
  if (isOwn || !blocks.blocks.some((block) => block.name === name)) return;
  throw new ProblemError("conflict", {
    detail: `The tool ${name} is blocked in every tenant: tenantry block lift ${name}`,
  });
}

function suspender({ caller: { name, role } }: Desk): Suspender {
  return { name, isTenantAdmin: role === "tenant-admin" };
}
