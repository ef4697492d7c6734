// Owns the routes for tenants as a whole: which there are, making one, and its end.

import { diffDocuments, mergeDocuments } from "../../tenants/document/tenant-document.ts";
import { forgetName } from "../../tenants/directory/directory.ts";
import { askedDirectory } from "../apply/asked-directory.ts";
import type { NamedHere } from "../../tenants/directory/directory-object.ts";
import type { DirectoryEntry } from "../../tenants/directory/directory-object.ts";
import type { TenantRecord } from "../../tenants/authority/policy-records.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { catalogNames } from "../apply/tenant-offer.ts";
import { applyDocument, isOvertakenBy, resolveDocument, type Intent } from "../apply/apply-document.ts";
import { baseTables } from "../platform/base-tables.ts";
import type { NewTenant, TenantSummary, Infer } from "../contract.ts";
import { declaredIn } from "../apply/declared-tenants.ts";
import { warned } from "../apply/named-things.ts";
import { inLanes } from "../apply/lanes.ts";
import { deleteTenant } from "../apply/tenant-deletion.ts";
import { announceNames, checkNames, claimNames, giveBack, type Replaced } from "../apply/hostnames.ts";
import { listDeclared, listEntries, listOfIds, type NamesAsk } from "../apply/listed-names.ts";
import { pageFrom, positionOf, type PageAsk } from "../page.ts";
import { platformOf } from "../platform/platform-door.ts";
import { invalidFields, notFound, ProblemError } from "../problem.ts";
import { routes, type Desk } from "../route.ts";
import {
  anyOf,
  lookUpTenant,
  managedOf,
  namedBy,
  placementOf,
  readRecord,
  type Managed,
} from "../apply/tenant-access.ts";
import { TENANT_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

export const tenantRoutes = routes(TENANT_ENDPOINTS, {
  "GET /tenants": async (call) => ({ body: await listTenants(call, call.query) }),
  "POST /tenants": async (call) => {
    const { dryRun, unknownNames } = call.query;
    const asked = { ...call.body, unknownNames };
    if (dryRun) return { body: await supposeTenant(call, asked) };
    const made = await createTenant(call, asked);
    return {
      status: 201,
      body: made,
      headers: { location: `${call.options.path ?? ""}/admin/v1/tenants/${made.id}` },
    };
  },
  "GET /tenants/{id}": async (call) => ({ body: await showTenant(call, call.params.id) }),
  "DELETE /tenants/{id}": async (call) => {
    const managed = await lookUpTenant(call, call.params.id);
    refuseOther(managed, call.query.created);
    await deleteTenant(call, managed);
    return {};
  },
});

/** Throws where a tenant is named by when it was made, and another one has its name now. */
function refuseOther({ id, created }: Managed, named: string | undefined): void {
  if (named === undefined || named === created) return;
  throw new ProblemError("precondition-failed", { detail: `The tenant ${id} is another one now, made ${created}` });
}

type Summary = Infer<typeof TenantSummary>;

async function listTenants(desk: Desk, query: PageAsk) {
  const after = positionOf("tenants", query);
  const { caller, options } = desk;
  const asked = { after: after ?? null, limit: query.limit + 1 };
  const isAfter = (id: string) => after === undefined || id > after;
  const own = caller.tenants?.filter(isAfter);
  const { entries, declared } = own ? await ownTenants(desk, own) : await allTenants(desk, asked);
  const names = new Set([...options.tenants.keys(), ...declared]);
  const inCode = [...names].map((id): Summary => ({
    id,
    created: null,
    state: "code",
    suspended: null,
  }));
  const entered = entries.filter(({ id }) => !options.tenants.has(id)).map(summaryOf);
  const isMade = new Set(entered.map(({ id }) => id));
  const visible = [...inCode.filter(({ id }) => !isMade.has(id)), ...entered]
    .filter(({ id }) => isAfter(id) && (own?.includes(id) ?? true))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const page = pageFrom("tenants", visible, query.limit, ({ id }) => id);
  return { ...page, items: await inLanes(page.items, (item) => withState(desk, item)) };
}

/** What the author's function says now of one that it declared when it was asked for last. */
async function withState(desk: Desk, item: Summary): Promise<Summary> {
  if (item.state !== "code" || desk.options.tenants.has(item.id)) return item;
  // Told to `onError` where it failed. Here the list says that it is not known.
  const declared = await declaredIn(desk, item.id).catch(() => null);
  return declared ? item : { ...item, state: declared === null ? "unknown" : "gone" };
}

/** Of those that the author's function declares, all that were ever asked for. */
async function allTenants({ env, options }: Desk, asked: NamesAsk): Promise<NamedHere> {
  const [entries, declared] = await Promise.all([
    listEntries(env, asked),
    options.asked ? listDeclared(env, asked) : [],
  ]);
  return { entries, declared };
}

/** Of those that the author's function declares, also those that nobody asked for yet. */
async function ownTenants(desk: Desk, ids: readonly string[]): Promise<NamedHere> {
  const { entries, declared } = await listOfIds(desk.env, ids);
  if (!desk.options.asked) return { entries, declared: [] };
  const known = new Set([...entries.map(({ id }) => id), ...declared]);
  const unknown = ids.filter((id) => !known.has(id));
  const said = await Promise.all(unknown.map(async (id) => ((await declaredIn(desk, id)) ? [id] : [])));
  return { entries, declared: [...declared, ...said.flat()] };
}

function summaryOf({ id, created, state, isSuspended }: DirectoryEntry): Summary {
  return { id, created, state, suspended: isSuspended };
}

async function showTenant(desk: Desk, id: string) {
  const managed = await lookUpTenant(desk, id);
  const record = await managed.policy.read(managed.entry === null);
  if (record) return tenantOf(desk, managed, record);
  const { entry } = managed;
  if (entry?.state !== "deleting") throw notFound(`tenant ${id}`);
  return tenantOf(desk, managed, { created: entry.created, revision: 0, own: {}, effective: {}, suspensions: [] });
}

type Shown = Pick<TenantRecord, "created" | "revision" | "own" | "effective" | "suspensions">;

function tenantOf(desk: Desk, managed: Managed, record: Shown) {
  const { id, entry, tenant } = managed;
  const { created, revision, own, effective, suspensions } = record;
  return {
    id,
    created,
    state: entry === null ? (managed.isGone ? ("gone" as const) : ("code" as const)) : entry.state,
    ...placementOf(managed),
    url: `${new URL(desk.request.url).origin}${desk.options.path ?? ""}/mcp/${id}`,
    revision,
    own,
    effective: mergeDocuments([tenant.base, effective]),
    suspended: suspensions.find(({ kind }) => kind === "tenant")?.note ?? null,
  };
}

type Asked = Infer<typeof NewTenant> & Pick<Intent, "unknownNames">;

/** A dry run of `createTenant`: refused as that would be, and nothing is written. */
async function supposeTenant(desk: Desk, asked: Asked) {
  const { id, region = null, jurisdiction = null, document: own = {}, unknownNames } = asked;
  const managed = await findPlace(desk, { id, region, jurisdiction });
  const names = await catalogNames(desk, managed, null);
  const { whole, warnings } = await resolveDocument(desk, managed, { own, names }, { dryRun: true, unknownNames });
  await checkNames(desk, managed, whole);
  const said = { changes: [...diffDocuments({}, own)], ...warned(warnings) };
  return { revision: 0, changed: true, dryRun: true, effectiveAt: null, ...said };
}

async function createTenant(desk: Desk, asked: Asked) {
  const { id, region = null, jurisdiction = null, document: own = {}, unknownNames } = asked;
  const place = await findPlace(desk, { id, region, jurisdiction });
  // 1. Everything is checked, before anything is written.
  const names = await catalogNames(desk, place, null);
  const { whole, warnings } = await resolveDocument(desk, place, { own, names }, { dryRun: true, unknownNames });
  await checkNames(desk, place, whole);
  // 2. The directory decides which tenant of the name it is, and the tenant's own object follows.
  const directory = askedDirectory(desk.env, id);
  const entry = await directory.add(id, { region, jurisdiction });
  const managed = managedOf(desk, id, { entry, created: entry.created });
  const { effective, bases } = await resolveDocument(desk, managed, { own, names }, { dryRun: false, unknownNames });
  await claimNames(desk, managed, whole, NOTHING);
  const birth = { created: entry.created, blocks: entry.blocks, own, effective, actor: desk.caller, action: "create" };
  const written = await anyOf(desk, id, entry).create(birth);
  if (written.state !== "written") {
    await giveBack(desk, managed, whole, NOTHING);
    throw taken(id);
  }
  // Whoever deleted a base meanwhile may have found no tenant behind the use that was noted first.
  if (own.extends) await remote(platformOf(desk.env), baseTables).take({ id, created: entry.created }, own.extends, 1);
  // 3. A run may have written one meanwhile, and looked here before there was a tenant.
  if (await isOvertakenBy(desk.env, { own, bases })) {
    const again = { ifMatch: null, dryRun: false, wait: "never", action: "create" } as const;
    await applyDocument(desk, managed, { ...again, edit: (now) => now });
  }
  forgetName(id);
  await announceNames(desk, managed, NOTHING, { whole, revision: written.revision });
  const record = await readRecord(managed);
  return { ...tenantOf(desk, managed, record), ...warned(warnings) };
}

/** What the first document of a tenant replaces. */
const NOTHING: Replaced = { revision: 0, effective: { mode: "open" } };

type Placed = Pick<DirectoryEntry, "id" | "region" | "jurisdiction">;

/** A tenant to be made. An entry without a tenant behind it is left from a try that was cut off, and is used again. */
async function findPlace(desk: Desk, place: Placed): Promise<Managed> {
  const { id, jurisdiction } = place;
  const { entry, declared } = await namedBy(desk, id);
  if (declared) throw taken(id);
  if (entry && (entry.state !== "active" || entry.jurisdiction !== jurisdiction)) throw taken(id);
  const managed = birthOf(desk, id, entry ?? { ...place, created: "", state: "active", isSuspended: false });
  if (entry && (await anyOf(desk, id, entry).read(false))) throw taken(id);
  return managed;
}

function taken(id: string): ProblemError {
  return new ProblemError("conflict", { errors: [{ field: "id", rule: `${id} is taken` }] });
}

function birthOf(desk: Desk, id: string, entry: DirectoryEntry): Managed {
  try {
    return managedOf(desk, id, { entry, created: entry.created });
  } catch (error) {
    if (entry.jurisdiction === null) throw error;
    throw invalidFields(["jurisdiction", `${entry.jurisdiction} is not available here`]);
  }
}
