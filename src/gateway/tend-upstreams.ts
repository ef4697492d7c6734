// Owns when an isolate has upstreams read: it asks the tenant's authority what is due, and is told what to read itself,
// so that nobody reads what another one reads. Also clears up after upstreams that are none any more.

import type { TendGround } from "../deployment/deployment.ts";
import { sectionTables } from "../tenants/authority/section-tables.ts";
import { remote } from "../tenants/authority/tables.ts";
import { gatewayTables } from "./gateway-tables.ts";
import { catalogSection, failingSection, startRefresh, type RefreshOrder } from "./refresh-entrypoint.ts";
import { configOf, enabledUpstreams, headersOf, type NamedUpstream } from "./upstream-config.ts";

const OURS = /^upstream(-failing)?:/;

export async function tendUpstreams(ground: TendGround): Promise<number> {
  const upstreams = enabledUpstreams(ground.document);
  const wanted = new Set(upstreams.flatMap(({ id }) => [catalogSection(id), failingSection(id)]));
  const stray = [...ground.leased.keys()].filter((name) => OURS.test(name) && !wanted.has(name));
  if (upstreams.length === 0 && stray.length === 0) return Infinity;
  const { revision, stub } = ground;
  const asked = upstreams.map(({ id, upstream }) => ({ id, config: configOf(upstream) }));
  const { claimed, next, current } = await remote(stub(), gatewayTables).due({
    revision,
    upstreams: asked,
  });
  if (current) await Promise.all(stray.map((name) => remote(stub(), sectionTables).remove(name)));
  await Promise.all(upstreams.filter(({ id }) => claimed.includes(id)).map((one) => refresh(one, ground)));
  // Only now is it known when those are due again.
  return claimed.length > 0 ? Date.now() : next;
}

async function refresh({ id, upstream }: NamedUpstream, ground: TendGround): Promise<void> {
  const { tenant, placement, created: incarnation, server, env } = ground;
  const { name, version } = server;
  try {
    const found = await headersOf(upstream, { tenant, env, secret: (secret) => ground.secret(secret) });
    const headers = "lacks" in found ? `this tenant has no secret ${found.lacks}` : found.headers;
    const clientInfo = { name, version };
    const order: RefreshOrder = {
      tenant,
      placement,
      incarnation,
      id,
      config: configOf(upstream),
      upstream,
      headers,
      clientInfo,
    };
    const failed = await startRefresh(order);
    if (failed !== undefined) ground.onError(new Error(failed));
  } catch (error) {
    ground.onError(error);
  }
}
