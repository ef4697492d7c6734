// The keys of an authorization server in an isolate: a section of the tenant's lease, which one isolate refreshes for
// all. Callers with unknown tokens cannot make a server be read more often than the tenant object allows.

import { issuerKeys, verifyJwt, type IssuerKeys, type TrustedIssuer, type VerifiedJwt } from "../../auth/jwt.ts";
import { digest } from "../../auth/seal.ts";
import type { RefreshContext } from "../../deployment/deployment.ts";
import { sectionPlace } from "../../deployment/leased-sections.ts";
import { LruMap } from "../../limits/lru-map.ts";
import { storageKey } from "../../tenants/object/tenant-uid.ts";
import { sectionStore } from "../../tenants/object/section-store.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { issuersOf, acceptsTokens, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";
import { loadSection, writeSection, type SectionLocation } from "../../tenants/cache/section-cache.ts";
import { issuerStore, type IssuerClaim } from "./issuer-store.ts";
import { readIssuer, type IssuerEndpoints, type IssuerSection } from "./read-issuer.ts";

/** Wait for another isolate that reads the server. */
const MAX_WAIT_MS = 3_000;
const POLL_MS = 100;
/**
 * Interval of reads while every token's key is known. A withdrawn key is accepted for at most this time plus a lease.
 */
const REFRESH_INTERVAL_MS = 600_000;
const RETRY_MS = 30_000;
/** How long a hash that is newer than the lease's is used. The next lease has it by then. */
const NEWER_HASH_MS = 60_000;
/**
 * After a failed search for a key, the tenant object is not asked again for this time: an attacker can invent key ids.
 */
const MISS_COOLDOWN_MS = 1_000;

const MAX_CACHE_BYTES = 8 * 1024 * 1024;
/** Overhead of an entry beside its bytes, so that many short entries are bounded too. */
const ENTRY_OVERHEAD_BYTES = 8192;

/** By storage key and the section's hash. Holds imported keys. Bounded, because tenants choose the servers. */
export function createIssuerCache(): LruMap<CachedIssuer> {
  return new LruMap(MAX_CACHE_BYTES, ({ bytes }) => ENTRY_OVERHEAD_BYTES + bytes);
}

const issuerCache = createIssuerCache();
/** By storage key and the name of the section. */
const newerHashes = new LruMap<{ readonly hash: string; readonly at: number }>(500);

/** By storage key and issuer: the time of the last miss. */
const lastMisses = new LruMap<number>(500);

/** A server's metadata and keys as last read. */
export interface CachedIssuer {
  readonly keys: IssuerKeys;
  readonly endpoints: IssuerEndpoints;
  /** Size of the stored section. */
  readonly bytes: number;
}

interface IssuerSource {
  readonly tenantContext: RefreshContext;
  readonly issuer: string;
  /** The name of its section. */
  readonly section: string;
  readonly location: SectionLocation;
}

async function issuerSourceOf(tenantContext: RefreshContext, issuer: string): Promise<IssuerSource> {
  const { tenant, created, stub, env } = tenantContext;
  const location = sectionPlace(storageKey(tenant, created), (env as { readonly BODIES: KVNamespace }).BODIES, stub);
  return { tenantContext, issuer, section: await sectionNameOf(issuer), location };
}

async function sectionNameOf(issuer: string): Promise<string> {
  return `issuer:${await digest(issuer)}`;
}

/**
 * Verifies a token with the server's keys, and with newer ones if no known key signed it. Returns undefined if the
 * server cannot be read.
 */
export async function verifyWithIssuer(
  tenantContext: RefreshContext,
  token: string,
  { issuer, audience }: Pick<TrustedIssuer, "issuer" | "audience">,
): Promise<VerifiedJwt | undefined> {
  const verifyWith = async (read: CachedIssuer | undefined) =>
    read && verifyJwt(token, { issuer, keys: read.keys, audience }, Date.now());
  const verified = await verifyWith(await getCachedIssuer(tenantContext, issuer));
  if (verified && verified.kind !== "unknownKey") return verified;
  const name = `${storageKey(tenantContext.tenant, tenantContext.created)} ${issuer}`;
  if (verified && Date.now() < (lastMisses.get(name) ?? 0) + MISS_COOLDOWN_MS) return verified;
  const { issuer: refreshed, isNew } = await refreshIssuer(tenantContext, issuer);
  const retried = await verifyWith(refreshed);
  if (retried?.kind !== "unknownKey") return retried;
  // A newer key may have signed it. A rejection would make the person log in again, only to return with a token of the
  // same key.
  if (!isNew) return undefined;
  lastMisses.set(name, Date.now());
  return retried;
}

/** The server's endpoints for sign-in; undefined if it cannot be read. */
export async function getIssuerEndpoints(
  tenantContext: RefreshContext,
  issuer: string,
): Promise<IssuerEndpoints | undefined> {
  return ((await getCachedIssuer(tenantContext, issuer)) ?? (await refreshIssuer(tenantContext, issuer)).issuer)
    ?.endpoints;
}

/** Returns undefined if the server has not been read yet. */
async function getCachedIssuer(tenantContext: RefreshContext, issuer: string): Promise<CachedIssuer | undefined> {
  const source = await issuerSourceOf(tenantContext, issuer);
  const newer = newerHashes.get(`${source.location.storageKey} ${source.section}`);
  const isNew = newer && isUnexpired(newer.at + NEWER_HASH_MS, NEWER_HASH_MS, Date.now());
  const hash = isNew ? newer.hash : tenantContext.sectionHashes.get(source.section);
  return hash === undefined ? undefined : loadIssuer(source, hash);
}

interface RefreshedIssuer {
  /** undefined: nothing is known of the server. */
  readonly issuer: CachedIssuer | undefined;
  /** Whether the last attempt to read it succeeded; false: the data is from before. */
  readonly isNew: boolean;
}

/** Reads the server again, if that is allowed now. */
async function refreshIssuer(tenantContext: RefreshContext, issuer: string): Promise<RefreshedIssuer> {
  const source = await issuerSourceOf(tenantContext, issuer);
  const startedAt = Date.now();
  let claim: IssuerClaim | undefined;
  for (let elapsedAt = startedAt; elapsedAt <= startedAt + MAX_WAIT_MS; elapsedAt += POLL_MS) {
    claim = await claimRead(source, startedAt);
    if (claim.claimed) claim = await readAndStore(source);
    if (!claim.reading) break;
    await scheduler.wait(POLL_MS);
  }
  const { hash = null, wasRead = false, reading = true } = claim ?? {};
  if (hash === null) return { issuer: undefined, isNew: false };
  newerHashes.set(`${source.location.storageKey} ${source.section}`, { hash, at: startedAt });
  return { issuer: await loadIssuer(source, hash), isNew: wasRead && !reading };
}

/** The issuers whose tokens are accepted, and the one at which people sign in. */
function issuerNamesOf(document: TenantDocument): readonly string[] {
  const { via, issuer } = document.auth?.login ?? {};
  const names = issuersOf(document).map((one) => one.issuer);
  return [...new Set(via === "oidc" && issuer ? [...names, issuer] : names)];
}

/**
 * Runs beside requests: reads every server that is due. Returns the time of the next run, in milliseconds since the
 * epoch.
 */
export async function refreshIssuers(tenantContext: RefreshContext): Promise<number> {
  const { document } = tenantContext;
  const issuers = acceptsTokens(document.mode) ? issuerNamesOf(document) : [];
  await removeStaleSections(tenantContext, await Promise.all(issuers.map(sectionNameOf)));
  if (issuers.length === 0) return Infinity;
  const now = Date.now();
  const hashes = await Promise.all(
    issuers.map(async (issuer) => {
      const source = await issuerSourceOf(tenantContext, issuer);
      const claim = await claimRead(source, now - REFRESH_INTERVAL_MS);
      return claim.claimed ? (await readAndStore(source)).hash : claim.hash;
    }),
  );
  return now + (hashes.includes(null) ? RETRY_MS : REFRESH_INTERVAL_MS);
}

/** `currentNames`: names of the sections to keep. */
async function removeStaleSections(
  { sectionHashes, stub, revision }: RefreshContext,
  currentNames: readonly string[],
): Promise<void> {
  const staleNames = [...sectionHashes.keys()].filter(
    (name) => name.startsWith("issuer:") && !currentNames.includes(name),
  );
  if (staleNames.length === 0 || !(await createRpcClient(stub(), issuerStore).isCurrent(revision))) return;
  await Promise.all(staleNames.map((name) => createRpcClient(stub(), sectionStore).remove(name)));
}

function claimRead({ tenantContext, issuer, section }: IssuerSource, since: number): Promise<IssuerClaim> {
  // A new id for each attempt: a retry gets the same claim.
  const claimant = crypto.randomUUID();
  return createRpcClient(tenantContext.stub(), issuerStore).claim({
    issuer,
    section,
    issuers: issuerNamesOf(tenantContext.document),
    since,
    claimant,
  });
}

/** Requires the claim. Returns the state after the read. */
async function readAndStore({ tenantContext, issuer, section, location }: IssuerSource): Promise<IssuerClaim> {
  const issuerStub = createRpcClient(tenantContext.stub(), issuerStore);
  try {
    const read = await readIssuer(issuer, tenantContext.document.auth?.login?.issuer === issuer, tenantContext);
    const bytes = new TextEncoder().encode(JSON.stringify(read));
    const { state } = await writeSection(location, { name: section, bytes });
    if (state === "full") throw new Error(`the tenant has no room to store the keys of ${issuer}`);
    await issuerStub.settle(issuer, true);
  } catch (error) {
    tenantContext.onError(error);
    if (await issuerStub.settle(issuer, false))
      await createRpcClient(tenantContext.stub(), sectionStore).remove(section);
  }
  return claimRead({ tenantContext, issuer, section, location }, 0);
}

async function loadIssuer({ location }: IssuerSource, hash: string): Promise<CachedIssuer | undefined> {
  const key = `${location.storageKey} ${hash}`;
  const cached = issuerCache.get(key);
  if (cached) return cached;
  const section = await loadSection(location, hash);
  if (!section) return undefined;
  const { endpoints, ...keys } = JSON.parse(new TextDecoder().decode(section.bytes)) as IssuerSection;
  const loaded = { keys: issuerKeys(keys), endpoints, bytes: section.bytes.length };
  issuerCache.set(key, loaded);
  return loaded;
}
