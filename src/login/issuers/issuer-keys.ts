// Owns the keys of an authorization server as an isolate has them: a section of the tenant's lease, read anew by one
// isolate for all. Nobody who brings a token can have a server asked more often than its authority lets them.

import type { JSONWebKeySet } from "jose";
import { issuerKeys, type IssuerKeys } from "../../auth/jwt.ts";
import { digest } from "../../auth/seal.ts";
import type { TendGround } from "../../deployment/deployment.ts";
import { sectionPlace } from "../../deployment/leased-sections.ts";
import { RecentMap } from "../../limits/recent-map.ts";
import { keptUnder } from "../../tenants/authority/incarnation.ts";
import { sectionTables } from "../../tenants/authority/section-tables.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { issuersOf } from "../../tenants/document/tenant-document.ts";
import { loadSection, writeSection, type SectionPlace } from "../../tenants/isolate/sections.ts";
import { issuerTables, type IssuerClaim } from "./issuer-tables.ts";
import { readIssuer } from "./read-issuer.ts";

/** Whoever does not read it itself waits so long for who does. */
const WAITS_MS = 3_000;
const LOOKS_EVERY_MS = 100;
/** How often it is read while nobody misses a key: so long one that was withdrawn is taken at most, and a lease. */
const READ_EVERY_MS = 600_000;
const RETRY_MS = 30_000;
/** What was learned beside the lease is taken for so long: a new lease has it by then. */
const LEARNED_MS = 60_000;

/** By what stands for the tenant and the section's hash: imported keys are kept in them. */
const sets = new RecentMap<IssuerKeys>(500);
/** By what stands for the tenant and the name of the section. */
const learned = new RecentMap<{ readonly hash: string; readonly at: number }>(500);

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

/** undefined: nobody has read it yet. */
export async function keysOf(ground: TendGround, issuer: string): Promise<IssuerKeys | undefined> {
  const source = await sourceOf(ground, issuer);
  const known = learned.get(`${source.place.kept} ${source.section}`);
  const hash = known && Date.now() < known.at + LEARNED_MS ? known.hash : ground.leased.get(source.section);
  return hash === undefined ? undefined : keysAt(source, hash);
}

/** Those that the server has now, where they may be asked for again; undefined: there are none. */
export async function newerKeysOf(ground: TendGround, issuer: string): Promise<IssuerKeys | undefined> {
  const source = await sourceOf(ground, issuer);
  const asked = Date.now();
  let hash: string | null = null;
  for (let until = asked; until <= asked + WAITS_MS; until += LOOKS_EVERY_MS) {
    const claim = await claimed(source, asked);
    hash = claim.claimed ? await readAnew(source) : claim.hash;
    if (claim.claimed || !claim.reading) break;
    await scheduler.wait(LOOKS_EVERY_MS);
  }
  if (hash === null) return undefined;
  learned.set(`${source.place.kept} ${source.section}`, { hash, at: asked });
  return keysAt(source, hash);
}

/** Beside requests: has every server read when it is due. Gives when to look again, milliseconds since the epoch. */
export async function tendIssuers(ground: TendGround): Promise<number> {
  const { auth, mode } = ground.document;
  const issuers = mode?.endsWith("oauth") ? (auth?.issuers ?? []) : [];
  await forgetOthers(ground, await Promise.all(issuers.map(({ issuer }) => sectionOf(issuer))));
  if (issuers.length === 0) return Infinity;
  const now = Date.now();
  const read = await Promise.all(
    issuers.map(async ({ issuer }) => {
      const source = await sourceOf(ground, issuer);
      const claim = await claimed(source, now - READ_EVERY_MS);
      return claim.claimed ? readAnew(source) : claim.hash;
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
  const issuers = issuersOf(ground.document).map((one) => one.issuer);
  return remote(ground.stub(), issuerTables).claim({ issuer, section, issuers, since });
}

/** For whoever claimed it. The hash of what it has now; null: nothing that can be used. */
async function readAnew({ ground, issuer, section, place }: Source): Promise<string | null> {
  const tables = remote(ground.stub(), issuerTables);
  try {
    const keys = await readIssuer(issuer, ground.tenant, ground.env);
    const bytes = new TextEncoder().encode(JSON.stringify(keys));
    const { state } = await writeSection(place, { name: section, bytes });
    if (state === "full") throw new Error(`there is no room for the keys of ${issuer}`);
    await tables.settle(issuer, true);
  } catch (error) {
    ground.onError(error);
    if (await tables.settle(issuer, false)) await remote(ground.stub(), sectionTables).remove(section);
  }
  const { hash } = await claimed({ ground, issuer, section, place }, 0);
  return hash;
}

async function keysAt({ place }: Source, hash: string): Promise<IssuerKeys | undefined> {
  const key = `${place.kept} ${hash}`;
  const known = sets.get(key);
  if (known) return known;
  const section = await loadSection(place, hash);
  if (!section) return undefined;
  const made = issuerKeys(JSON.parse(new TextDecoder().decode(section.bytes)) as JSONWebKeySet);
  sets.set(key, made);
  return made;
}
