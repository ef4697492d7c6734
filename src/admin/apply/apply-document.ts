// Owns making a tenant what a document says: resolving its bases, checking it as a whole, computing what retires, and
// the one write that does it. Nothing is written before everything is known to hold; a write that lost a race begins
// again.

import {
  diffDocuments,
  mergeDocuments,
  type Change,
  type TenantDocument,
} from "../../tenants/document/tenant-document.ts";
import type { TenantRecord } from "../../tenants/authority/policy-records.ts";
import { retiredNames, type CatalogNames } from "../../tenants/document/retirement.ts";
import { configFaults, strayConfig } from "../../content/define/check-config.ts";
import type { Bindings } from "../../deployment/deployment.ts";
import { refusedByFeatures } from "../../deployment/check-deployment.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { baseTables, type BasesFound } from "../platform/base-tables.ts";
import { catalogNames } from "./tenant-offer.ts";
import { boundMembers, brokenRules, beyondBounds, withoutLogin } from "./document-rules.ts";
import { changedMeanwhile } from "../etag.ts";
import { announceNames, checkNames, claimNames, giveBack } from "./hostnames.ts";
import { expectTold, fromNow, untilInForce } from "./in-force.ts";
import { ownUpstreams } from "./own-upstreams.ts";
import { platformOf } from "../platform/platform-door.ts";
import { invalidFields, ProblemError } from "../problem.ts";
import type { Desk } from "../route.ts";
import { holdStops } from "./stopped-everywhere.ts";
import { readRecord, type Managed } from "./tenant-access.ts";
import { judgeNames, thingsOf, type JudgedNames } from "./named-things.ts";
import { holdBounds } from "./upstream-bounds.ts";
import { takesAway } from "./withdrawal.ts";

export interface Intent {
  /** From the tenant's own document as it is to what it shall be. May be called again after a lost race. */
  readonly edit: (own: TenantDocument) => TenantDocument;
  /** Revisions, one of which must be current; null for no condition. */
  readonly ifMatch: readonly string[] | null;
  readonly dryRun: boolean;
  /** Whether the answer waits until the change is in force: only where something is taken away, always, or never. */
  readonly wait: "withdrawals" | "always" | "never";
  readonly action: string;
  /** Whether a name that matches nothing is taken with a warning. */
  readonly unknownNames?: boolean | undefined;
}

export interface AppliedDocument {
  readonly revision: number;
  readonly changed: boolean;
  readonly dryRun: boolean;
  /** When nothing older is served any more (milliseconds since the epoch); null: nothing older is, or a dry run. */
  readonly effectiveAt: number | null;
  /** What the answer says of isolates that are cut off. */
  readonly changes: readonly Change[];
  /** What was taken, and may not be what was meant. */
  readonly warnings: JudgedNames["warnings"];
  /** The tenant's own document, as it is now or, in a dry run, would be. */
  readonly own: TenantDocument;
}

const TRIES = 10;
/** Somebody always wins a race, so who lost several comes when fewer are there. */
const APART_MS = 40;

export async function applyDocument(desk: Desk, managed: Managed, intent: Intent): Promise<AppliedDocument> {
  let next = intent;
  let before: readonly Change[] = [];
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (tries > 1) await scheduler.wait(Math.random() * tries * APART_MS);
    const outcome = await applyOnce(desk, managed, next);
    if (!outcome) continue;
    const changes = [...before, ...outcome.changes];
    if (!outcome.isOvertaken) return { ...outcome, changed: changes.length > 0, changes };
    // It was written, and is written again over the base as it is now.
    next = { ...intent, ifMatch: null };
    before = changes;
  }
  throw new ProblemError("busy", { detail: "Others keep changing this tenant", headers: { "retry-after": "1" } });
}

/** `isOvertaken`: a base was written while the tenant was, which has the older one. */
interface AppliedOnce extends AppliedDocument {
  readonly isOvertaken?: boolean;
}

/** undefined: somebody else wrote in between, so it has to be tried again. */
async function applyOnce(desk: Desk, managed: Managed, intent: Intent): Promise<AppliedOnce | undefined> {
  const record = await readRecord(managed);
  const { ifMatch, dryRun } = intent;
  if (ifMatch !== null && !ifMatch.includes("*") && !ifMatch.includes(String(record.revision))) {
    throw changedMeanwhile(record.revision);
  }
  const plan = await planApply(desk, managed, record, intent);
  const { own, changes, warnings } = plan;
  const changed = changes.length > 0;
  const said = { changes, warnings, own };
  const outcome = { revision: record.revision, changed, dryRun, effectiveAt: null, ...said };
  if (dryRun) {
    await checkNames(desk, managed, plan.whole);
    return outcome;
  }
  await claimNames(desk, managed, plan.whole, record);
  if (!changed) return { ...outcome, effectiveAt: await confirm(desk, managed, record, { plan, intent }) };
  const written = await write(desk, managed, record, { plan, intent });
  if (written) return { ...outcome, ...written };
  await giveBack(desk, managed, plan.whole, record);
  return undefined;
}

interface Planned {
  readonly plan: Plan;
  readonly intent: Intent;
}

async function write(
  desk: Desk,
  managed: Managed,
  record: TenantRecord,
  { plan, intent }: Planned,
): Promise<Pick<AppliedOnce, "revision" | "effectiveAt" | "isOvertaken"> | undefined> {
  const written = await managed.policy.write({
    own: plan.own,
    effective: plan.effective,
    retired: plan.retired,
    ifRevision: record.revision,
    actor: desk.caller,
    action: intent.action,
  });
  // If the tenant is gone, the next try finds that out and says so.
  if (written.state === "conflict" || written.state === "absent") return undefined;
  const inForceAt = written.state === "written" ? fromNow(written.leftMs) : 0;
  const effectiveAt = Math.max(inForceAt, await settle(desk, managed, record, { ...plan, revision: written.revision }));
  const isOvertaken = await isOvertakenBy(desk.env, plan);
  if (intent.wait === "always" || (intent.wait === "withdrawals" && plan.withdraws)) await untilInForce(effectiveAt);
  if (intent.wait !== "never" && plan.withdraws) await expectTold(managed.stub());
  return { revision: written.revision, effectiveAt, isOvertaken };
}

/** Nothing changes, but an earlier try, whose answer was lost, may have taken something away that is still served. */
async function confirm(
  desk: Desk,
  managed: Managed,
  record: TenantRecord,
  { plan, intent }: Planned,
): Promise<number | null> {
  const inForceAt = Math.max(
    fromNow(await managed.policy.leftMs()),
    await settle(desk, managed, record, { ...plan, revision: record.revision }),
  );
  if (intent.wait === "always") await untilInForce(inForceAt);
  if (intent.wait !== "never") await expectTold(managed.stub());
  return inForceAt > Date.now() ? inForceAt : null;
}

export interface Plan {
  readonly own: TenantDocument;
  readonly effective: TenantDocument;
  readonly retired: ReturnType<typeof retiredNames>;
  readonly changes: readonly Change[];
  readonly withdraws: boolean;
  /** The effective document over what the tenant's code declares. */
  readonly whole: TenantDocument;
  /** As they were when this was planned. */
  readonly bases: readonly TenantDocument[];
  readonly warnings: JudgedNames["warnings"];
}

async function planApply(desk: Desk, managed: Managed, record: TenantRecord, intent: Intent): Promise<Plan> {
  const own = intent.edit(record.own);
  holdBounds(desk, managed, record, own);
  await holdStops(desk, managed, record, own);
  const names = await catalogNames(desk, managed, record);
  const written = { own, names, before: record.own, basis: record.revision };
  const { effective, whole, bases, warnings } = await resolveDocument(desk, managed, written, intent);
  const before = mergeDocuments([managed.tenant.base, record.effective]);
  const retired = retiredNames(before, whole, names, Date.now());
  const ownChanges = diffDocuments(record.own, own);
  return {
    own,
    effective,
    whole,
    bases,
    warnings,
    retired,
    withdraws: takesAway(before, whole, retired),
    // Where only a base document changed, shows what that changes here.
    changes: ownChanges.length > 0 ? ownChanges : diffDocuments(record.effective, effective),
  };
}

export interface Written {
  readonly own: TenantDocument;
  readonly names: CatalogNames;
  /** What the tenant said until now; absent: it is only being made. */
  readonly before?: TenantDocument;
  /** The revision that this is based on. */
  readonly basis?: number;
}

export async function resolveDocument(
  desk: Desk,
  managed: Managed,
  { own, names, before = {}, basis = 0 }: Written,
  about: Pick<Intent, "dryRun" | "unknownNames">,
): Promise<Pick<Plan, "effective" | "whole" | "bases" | "warnings">> {
  const beyond = beyondBounds(own);
  if (beyond.length > 0) throw new ProblemError("invalid-input", { errors: beyond });
  const bases = await basesOf(desk, managed, { own, basis }, about);
  const effective = mergeDocuments([...bases, own]);
  const whole = mergeDocuments([managed.tenant.base, effective]);
  const { features = [] } = desk.options;
  const refused = refusedByFeatures(features, whole, desk.env as unknown as Bindings);
  const circles = ownUpstreams(desk, managed.id, whole);
  const configs = configFaults(desk.options.catalog, whole, {
    has: (tool) => names.tools.includes(tool),
    isWhole: false,
  });
  const { refused: unknown, warnings } = judgeNames(own, before, thingsOf(names, whole));
  const logins = features.some(({ name }) => name === "login") ? [] : withoutLogin(whole);
  const errors = [
    ...boundMembers(bases, before, own),
    ...brokenRules(whole, names),
    ...refused,
    ...circles,
    ...logins,
    ...configs,
    ...(about.unknownNames ? [] : unknown),
  ];
  if (errors.length > 0) throw new ProblemError("invalid-input", { errors });
  const strays = strayConfig(desk.options.catalog, own);
  return { effective, whole, bases, warnings: [...strays, ...(about.unknownNames ? unknown : []), ...warnings] };
}

async function basesOf(
  { env }: Desk,
  { id, created }: Managed,
  { own: { extends: names = [] }, basis }: { readonly own: TenantDocument; readonly basis: number },
  { dryRun }: Pick<Intent, "dryRun">,
): Promise<readonly TenantDocument[]> {
  if (names.length === 0) return [];
  const platform = remote(platformOf(env), baseTables);
  const found: BasesFound = dryRun ? await platform.resolve(names) : await platform.take({ id, created }, names, basis);
  if (!found.bases) {
    const { missing } = found;
    throw invalidFields(
      ...missing.map((name) => [`extends.${names.indexOf(name)}`, `there is no base document ${name}`] as const),
    );
  }
  return found.bases;
}

/** Whether a base says something else by now: whoever wrote it may have looked at the tenant before this was written. */
export async function isOvertakenBy(env: object, { own, bases }: Pick<Plan, "own" | "bases">): Promise<boolean> {
  const { extends: names = [] } = own;
  if (names.length === 0) return false;
  const now = await remote(platformOf(env), baseTables).resolve(names);
  return now.bases !== undefined && JSON.stringify(now.bases) !== JSON.stringify(bases);
}

/** Updates what other objects say about the tenant. Returns until when what was before may still be served. */
async function settle(
  desk: Desk,
  managed: Managed,
  before: TenantRecord,
  { own, whole, revision }: Pick<Plan, "own" | "whole"> & { readonly revision: number },
): Promise<number> {
  const was = before.own.extends ?? [];
  const is = own.extends ?? [];
  if (was.some((name) => !is.includes(name))) {
    const { id, created } = managed;
    await remote(platformOf(desk.env), baseTables).settle({ id, created }, is, revision);
  }
  return announceNames(desk, managed, before, { whole, revision });
}
