// Owns the keys of an authorization server as an isolate has them: a section of the tenant's lease, read anew by one
// isolate for all. Nobody who brings a token can have a server asked more often than its authority lets them.

import { issuerKeys, verifyJwt, type IssuerKeys, type TrustedIssuer, type VerifiedJwt } from "../../auth/jwt.ts";
import { digest } from "../../auth/seal.ts";
import type { TendGround } from "../../deployment/deployment.ts";
import { sectionPlace } from "../../deployment/leased-sections.ts";
import { RecentMap } from "../../limits/recent-map.ts";
import { keptUnder } from "../../tenants/authority/incarnation.ts";
import { sectionTables } from "../../tenants/authority/section-tables.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { issuersOf, takesTokens, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import { lasts } from "../../tenants/isolate/lasting.ts";
import { loadSection, writeSection, type SectionPlace } from "../../tenants/isolate/sections.ts";
import { issuerTables, type IssuerClaim } from "./issuer-tables.ts";
import { readIssuer, type IssuerEndpoints, type IssuerSection } from "./read-issuer.ts";

/** Whoever does not read it itself waits so long for who does. */
const WAITS_MS = 3_000;
const LOOKS_EVERY_MS = 100;
/** How often it is read while nobody misses a key: so long one that was withdrawn is taken at most, and a lease. */
const READ_EVERY_MS = 600_000;
const RETRY_MS = 30_000;
/** What was learned beside the lease is taken for so long: a new lease has it by then. */
const LEARNED_MS = 60_000;
/** Of a server at which a key was just looked for in vain, the authority is asked no more: anybody can name keys. */
const MISSED_MS = 1_000;

const MOST_KEPT_BYTES = 8 * 1024 * 1024;
/** Of one beside its bytes: so many short ones are few enough. */
const EACH_BYTES = 8192;

/** By what stands for the tenant and the section's hash: imported keys are kept in them. Tenants say which servers are read. */
export function readIssuers(): RecentMap<ReadIssuer> {
  return new RecentMap(MOST_KEPT_BYTES, ({ bytes }) => EACH_BYTES + bytes);
}

const sets = readIssuers();
/** By what stands for the tenant and the name of the section. */
const learned = new RecentMap<{ readonly hash: string; readonly at: number }>(500);

/** By what stands for the tenant and the issuer: when it was. */
const missed = new RecentMap<number>(500);

/** A server as it was read. */
export interface ReadIssuer {
  readonly keys: IssuerKeys;
  readonly endpoints: IssuerEndpoints;
  /** As it is stored. */
  readonly bytes: number;
}

interface Source {
  readonly ground: TendGround;
  readonly issuer: string;
  /** The name of its section. */
  readonly section: string;
  readonly place: SectionPlace;
}

async function sourceOf(ground: TendGround, issuer: string): Promise<Source> {
  const { tenant, created, stub, env } = ground;
  const place = sectionPlace(keptUnder(tenant, created), (env as { readonly BODIES: KVNamespace }).BODIES, stub);
  return { ground, issuer, section: await sectionOf(issuer), place };
}

async function sectionOf(issuer: string): Promise<string> {
  return `issuer:${await digest(issuer)}`;
}

/** By the server's keys, newer ones where none of those that are known signed it; undefined: it cannot be read. */
export async function verifiedBy(
  ground: TendGround,
  token: string,
  { issuer, audience }: Pick<TrustedIssuer, "issuer" | "audience">,
): Promise<VerifiedJwt | undefined> {
  const attempt = async (read: ReadIssuer | undefined) =>
    read && verifyJwt(token, { issuer, keys: read.keys, audience }, Date.now());
  const verified = await attempt(await known(ground, issuer));
  if (verified && verified.kind !== "unknownKey") return verified;
  const name = `${keptUnder(ground.tenant, ground.created)} ${issuer}`;
  if (verified && Date.now() < (missed.get(name) ?? 0) + MISSED_MS) return verified;
  const { read, isNew } = await readNow(ground, issuer);
  const newer = await attempt(read);
  if (newer?.kind !== "unknownKey") return newer;
  // Its newer keys may have signed it: who is refused logs in again, and comes back with a token of the same key.
  if (!isNew) return undefined;
  missed.set(name, Date.now());
  return newer;
}

/** Where people sign in at the server; undefined: it cannot be read. */
export async function endpointsOf(ground: TendGround, issuer: string): Promise<IssuerEndpoints | undefined> {
  return ((await known(ground, issuer)) ?? (await readNow(ground, issuer)).read)?.endpoints;
}

/** undefined: nobody has read it yet. */
async function known(ground: TendGround, issuer: string): Promise<ReadIssuer | undefined> {
  const source = await sourceOf(ground, issuer);
  const lately = learned.get(`${source.place.kept} ${source.section}`);
  const isNew = lately && lasts(lately.at + LEARNED_MS, LEARNED_MS, Date.now());
  const hash = isNew ? lately.hash : ground.leased.get(source.section);
  return hash === undefined ? undefined : readAt(source, hash);
}

interface ReadNow {
  /** undefined: nothing is known of it. */
  readonly read: ReadIssuer | undefined;
  /** Whether it was read when that was tried last; false: it is as it was before. */
  readonly isNew: boolean;
}

/** As the server is now, where it may be asked again. */
async function readNow(ground: TendGround, issuer: string): Promise<ReadNow> {
  const source = await sourceOf(ground, issuer);
  const asked = Date.now();
  let claim: IssuerClaim | undefined;
  for (let until = asked; until <= asked + WAITS_MS; until += LOOKS_EVERY_MS) {
    claim = await claimed(source, asked);
    if (claim.claimed) claim = await readAnew(source);
    if (!claim.reading) break;
    await scheduler.wait(LOOKS_EVERY_MS);
  }
  const { hash = null, wasRead = false, reading = true } = claim ?? {};
  if (hash === null) return { read: undefined, isNew: false };
  learned.set(`${source.place.kept} ${source.section}`, { hash, at: asked });
  return { read: await readAt(source, hash), isNew: wasRead && !reading };
}

/** Those whose tokens are taken, and the one at which people sign in. */
function namesIn(document: TenantDocument): readonly string[] {
  const { via, issuer } = document.auth?.login ?? {};
  const names = issuersOf(document).map((one) => one.issuer);
  return [...new Set(via === "oidc" && issuer ? [...names, issuer] : names)];
}

/** Beside requests: has every server read when it is due. Gives when to look again, milliseconds since the epoch. */
export async function tendIssuers(ground: TendGround): Promise<number> {
  const { document } = ground;
  const issuers = takesTokens(document.mode) ? namesIn(document) : [];
  await forgetOthers(ground, await Promise.all(issuers.map(sectionOf)));
  if (issuers.length === 0) return Infinity;
  const now = Date.now();
  const read = await Promise.all(
    issuers.map(async (issuer) => {
      const source = await sourceOf(ground, issuer);
      const claim = await claimed(source, now - READ_EVERY_MS);
      return claim.claimed ? (await readAnew(source)).hash : claim.hash;
    }),
  );
  return now + (read.includes(null) ? RETRY_MS : READ_EVERY_MS);
}

/** `wanted`: the names of sections. */
async function forgetOthers({ leased, stub, revision }: TendGround, wanted: readonly string[]): Promise<void> {
  const stray = [...leased.keys()].filter((name) => name.startsWith("issuer:") && !wanted.includes(name));
  if (stray.length === 0 || !(await remote(stub(), issuerTables).isCurrent(revision))) return;
  await Promise.all(stray.map((name) => remote(stub(), sectionTables).remove(name)));
}

function claimed({ ground, issuer, section }: Source, since: number): Promise<IssuerClaim> {
  // A name of its own for each ask: asked once more, it has what it claimed.
  const by = crypto.randomUUID();
  return remote(ground.stub(), issuerTables).claim({ issuer, section, issuers: namesIn(ground.document), since, by });
}

/** For whoever claimed it. As it is settled then. */
async function readAnew({ ground, issuer, section, place }: Source): Promise<IssuerClaim> {
  const tables = remote(ground.stub(), issuerTables);
  try {
    const read = await readIssuer(issuer, ground.document.auth?.login?.issuer === issuer, ground);
    const bytes = new TextEncoder().encode(JSON.stringify(read));
    const { state } = await writeSection(place, { name: section, bytes });
    if (state === "full") throw new Error(`there is no room for the keys of ${issuer}`);
    await tables.settle(issuer, true);
  } catch (error) {
    ground.onError(error);
    if (await tables.settle(issuer, false)) await remote(ground.stub(), sectionTables).remove(section);
  }
  return claimed({ ground, issuer, section, place }, 0);
}

async function readAt({ place }: Source, hash: string): Promise<ReadIssuer | undefined> {
  const key = `${place.kept} ${hash}`;
  const had = sets.get(key);
  if (had) return had;
  const section = await loadSection(place, hash);
  if (!section) return undefined;
  const { endpoints, ...keys } = JSON.parse(new TextDecoder().decode(section.bytes)) as IssuerSection;
  const made = { keys: issuerKeys(keys), endpoints, bytes: section.bytes.length };
  sets.set(key, made);
  return made;
}
