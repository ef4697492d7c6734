// Owns when an isolate has upstreams read: it asks the tenant's authority what is due, and is told what to read itself,
// so that nobody reads what another one reads. Also clears up after upstreams that are none any more.

import type { TendGround } from "../deployment/deployment.ts";
import { sectionTables } from "../tenants/authority/section-tables.ts";
import { remote } from "../tenants/authority/tables.ts";
import { READINGS } from "./guard/crowd.ts";
import { ungranted, type Services } from "./guard/service-binding.ts";
import { hashOf } from "./listed-name.ts";
import { allowedBy } from "../outbound/outbound-door.ts";
import { gatewayTables, type RefreshAnswer, type RefreshAsk } from "./gateway-tables.ts";
import { catalogSection, failingSection, startRefresh, type RefreshOrder } from "./refresh-entrypoint.ts";
import { lackingSecret, reasonFor } from "./unread-reason.ts";
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
/** Where no place was free all that time. */
const AFTER_CROWD_MS = 1_000;

export async function tendUpstreams(ground: TendGround, services: Services): Promise<number> {
  const upstreams = enabledUpstreams(ground.document);
  const wanted = new Set(upstreams.flatMap(({ id }) => [catalogSection(id), failingSection(id)]));
  const stray = [...ground.leased.keys()].filter((name) => OURS.test(name) && !wanted.has(name));
  if (upstreams.length === 0 && stray.length === 0) return Infinity;
  const { stub } = ground;
  const asked = refreshAsk(ground, services);
  const ask = async (most: number) => remote(stub(), gatewayTables).due({ ...asked, most, by: crypto.randomUUID() });
  const places = placesOf(ground.tenant);
  const { claimed, next, current, more = false } = await claimedWith(places, ask);
  // What was claimed is read whatever becomes of these.
  const cleared = current ? stray.map(async (name) => clear(name, ground)) : [];
  if (claimed.length === 0 && !more) {
    return Math.max(Math.min(next, ...(await Promise.all(cleared))), Date.now() + LEAST_PAUSE_MS);
  }
  const read = async (id: string) => {
    await Promise.all(upstreams.filter((one) => one.id === id).map((one) => refresh(one, ground)));
  };
  const begun = claimed.map((id, at) => ({ id, leave: places[at] }));
  const [isCrowded] = await Promise.all([readAll(ground.tenant, { begun, isMore: more, ask, read }), ...cleared]);
  // Only now is it known when those are due again.
  return Date.now() + (isCrowded ? AFTER_CROWD_MS * (1 + Math.random()) : 0);
}

type Leave = () => void;

/** As many as are free now, without waiting: most of the time nothing is due. */
function placesOf(tenant: string): Leave[] {
  return Array.from({ length: LANES }, () => READINGS.enter(tenant)).filter((leave) => leave !== undefined);
}

/** Claims no more than there are places for, and gives back the others. */
async function claimedWith(places: Leave[], ask: (most: number) => Promise<RefreshAnswer>): Promise<RefreshAnswer> {
  let claimed = 0;
  try {
    const answer = await ask(places.length);
    claimed = answer.claimed.length;
    return answer;
  } finally {
    for (const leave of places.splice(claimed)) leave();
  }
}

interface Readings {
  readonly begun: readonly { readonly id: string; readonly leave: Leave | undefined }[];
  /** More are due than those. */
  readonly isMore: boolean;
  readonly ask: (most: number) => Promise<RefreshAnswer>;
  readonly read: (id: string) => Promise<void>;
}

/** Each next one when there is a place for it: what is claimed without one, nobody else could read meanwhile. */
async function readAll(tenant: string, { begun, ask, read, ...all }: Readings): Promise<boolean> {
  const end = Date.now() + BEGIN_WITHIN_MS;
  let { isMore } = all;
  let isCrowded = false;
  const next = async (): Promise<void> => {
    if (!isMore || Date.now() >= end) return;
    const leave = await READINGS.enterWithin(tenant, end - Date.now());
    isCrowded ||= !leave;
    if (!leave) return;
    try {
      // Another lane may have been told meanwhile that nothing is left.
      const { claimed, more = false } = isMore ? await ask(1) : { claimed: [] };
      isMore &&= more;
      await Promise.all(claimed.map(read));
    } finally {
      leave();
    }
    await next();
  };
  const lane = async ({ id, leave }: Readings["begun"][number]) => {
    try {
      await read(id);
    } finally {
      leave?.();
    }
    await next();
  };
  await Promise.all([...begun.map(lane), ...Array.from({ length: LANES - begun.length }, next)]);
  return isCrowded;
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
  const headers = "lacks" in found ? lackingSecret(found.lacks) : found;
  const filled = refused === undefined ? headers : reasonFor("service-missing", refused);
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
    last: ground.leased.get(catalogSection(id)),
    prefixes,
  };
  const failed = await startRefresh(order);
  if (failed !== undefined) ground.onError(new Error(failed));
}

/** All of a document that may be read, as the authority is told of them. */
export function refreshAsk(ground: Pick<TendGround, "document" | "revision" | "env">, services: Services): RefreshAsk {
  const { document, revision, env } = ground;
  const upstreams = enabledUpstreams(document).map(({ id, upstream }) => {
    const isExposed = upstream.service !== undefined && Object.hasOwn(services, upstream.service);
    const allowed = [ungranted(document, upstream), isExposed, allowedBy(env)];
    return { id, config: configOf(upstream), allowed: hashOf(JSON.stringify(allowed)) };
  });
  const idle = Object.keys(document.upstreams ?? {}).filter((id) => !upstreams.some((one) => one.id === id));
  return { revision, upstreams, idle };
}
