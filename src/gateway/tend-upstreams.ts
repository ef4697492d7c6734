// Owns when an isolate has upstreams read: it asks the tenant's authority what is due, and is told what to read itself,
// so that nobody reads what another one reads. Also clears up after upstreams that are none any more.

import type { TendGround } from "../deployment/deployment.ts";
import { sectionTables } from "../tenants/authority/section-tables.ts";
import { remote } from "../tenants/authority/tables.ts";
import { ungranted } from "./guard/service-binding.ts";
import { gatewayTables, type RefreshAsk } from "./gateway-tables.ts";
import { catalogSection, failingSection, startRefresh, type RefreshOrder } from "./refresh-entrypoint.ts";
import { configOf, enabledUpstreams, headersOf, type NamedUpstream } from "./upstream-config.ts";
import { uriPrefixes } from "./uris/uri-owners.ts";

const OURS = /^upstream(-failing)?:/;
/**
 * So many are read at once: the platform lets six requests wait for their answers, counted with those of the request beside
 * which this runs, and the seventh waits for one of them. Servers that hang must not take them all.
 */
const LANES = 4;
/** After this none is begun that waits: what runs beside a request ends half a minute after it, and a reader a little later. */
const BEGIN_WITHIN_MS = 10_000;
/** Where this machine's clock is ahead of the authority's, it is not asked by each request meanwhile. */
const LEAST_PAUSE_MS = 1000;
const CLEAR_AGAIN_MS = 30_000;

export async function tendUpstreams(ground: TendGround): Promise<number> {
  const upstreams = enabledUpstreams(ground.document);
  const wanted = new Set(upstreams.flatMap(({ id }) => [catalogSection(id), failingSection(id)]));
  const stray = [...ground.leased.keys()].filter((name) => OURS.test(name) && !wanted.has(name));
  if (upstreams.length === 0 && stray.length === 0) return Infinity;
  const { stub } = ground;
  const asked = refreshAsk(ground);
  const due = async (most: number) => remote(stub(), gatewayTables).due({ ...asked, most });
  const { claimed, next, current } = await due(LANES);
  // What was claimed is read whatever becomes of these.
  const cleared = current ? stray.map(async (name) => clear(name, ground)) : [];
  if (claimed.length === 0) {
    return Math.max(Math.min(next, ...(await Promise.all(cleared))), Date.now() + LEAST_PAUSE_MS);
  }
  const queue = [...claimed];
  const end = Date.now() + BEGIN_WITHIN_MS;
  const lane = async () => {
    for (;;) {
      const id = queue.shift() ?? (Date.now() < end ? (await due(1)).claimed[0] : undefined);
      if (id === undefined) return;
      await Promise.all(upstreams.filter((one) => one.id === id).map((one) => refresh(one, ground)));
    }
  };
  await Promise.all([...cleared, ...Array.from({ length: LANES }, lane)]);
  // Only now is it known when those are due again.
  return Date.now();
}

/** Gives when to try again, milliseconds since the epoch. */
async function clear(name: string, ground: TendGround): Promise<number> {
  try {
    await remote(ground.stub(), sectionTables).remove(name);
    return Infinity;
  } catch (error) {
    ground.onError(error);
    return Date.now() + CLEAR_AGAIN_MS;
  }
}

async function refresh(one: NamedUpstream, ground: TendGround): Promise<void> {
  try {
    await readUpstream(one, ground);
  } catch (error) {
    ground.onError(error);
  }
}

/** For whoever claimed it. Resolves when what was read, or why it could not be, is written down. */
export async function readUpstream({ id, upstream }: NamedUpstream, ground: TendGround): Promise<void> {
  const { tenant, placement, created: incarnation, server, env } = ground;
  const { name, version } = server;
  const found = await headersOf(upstream, { tenant, env, secret: (secret) => ground.secret(secret) });
  const refused = ungranted(ground.document, upstream);
  const filled = refused ?? ("lacks" in found ? lacking(found.lacks) : found);
  const clientInfo = { name, version };
  const config = configOf(upstream);
  const prefixes = uriPrefixes(ground.document);
  const order: RefreshOrder = {
    tenant,
    placement,
    incarnation,
    id,
    config,
    upstream,
    filled,
    clientInfo,
    prefixes,
  };
  const failed = await startRefresh(order);
  if (failed !== undefined) ground.onError(new Error(failed));
}

export function lacking(secret: string): string {
  return `this tenant has no secret ${secret}`;
}

/** All of a document that may be read, as the authority is told of them. */
export function refreshAsk({ document, revision }: Pick<TendGround, "document" | "revision">): RefreshAsk {
  const upstreams = enabledUpstreams(document).map(({ id, upstream }) => ({ id, config: configOf(upstream) }));
  const idle = Object.keys(document.upstreams ?? {}).filter((id) => !upstreams.some((one) => one.id === id));
  return { revision, upstreams, idle };
}
