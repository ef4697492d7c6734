// Owns the gateway as a feature: the MCP servers elsewhere that a tenant's document names, offered as the tenant's own.

import { overflowStore } from "./budget/overflow-store.ts";
import { findBrokenBudgets } from "./budget/truncate-result.ts";
import type { Services } from "./guard/service-binding.ts";
import { outboundAllowOf } from "../outbound/guarded-fetch.ts";
import { assertKnownKeys } from "../protocol/members.ts";
import { refreshUpstream } from "./operate/refresh-upstream.ts";
import { reportUpstreams, UPSTREAM_SECTIONS } from "./operate/report-upstreams.ts";
import { tryUpstream } from "./operate/try-upstream.ts";
import type { GatewayFeature } from "./refresh-entrypoint.ts";
import { refreshDueUpstreams } from "./refresh-scheduler.ts";
import type { UpstreamBounds } from "../tenants/document/tenant-document.ts";
import { UPSTREAM_HOST } from "../tenants/document/upstream-hosts.ts";
import { findBrokenUpstreams, MAX_UPSTREAMS } from "./upstream-rules.ts";
import { createUpstreamSources } from "./upstream-source.ts";

export interface GatewayOptions {
  /** Service bindings that upstreams may be, where an operator grants them: `{ BILLING: (env) => env.BILLING }`. */
  readonly serviceBindings?: Services;
  /**
   * The most pages that one reading takes of all lists of an upstream. Each is a subrequest, of which the free plan of
   * Cloudflare allows 50 in an invocation: there 30 leave room for the rest.
   */
  readonly pages?: number;
  /**
   * Which upstreams a tenant's own administrator may write, where neither its document nor a base says so with
   * `upstreamBounds`: `{ hosts: ["*.example.com"], most: 5 }`. Without it: none.
   */
  readonly bounds?: UpstreamBounds;
}

/** Throws a TypeError that names what is wrong. */
function checkBounds(bounds: UpstreamBounds): void {
  const { hosts = [], most = 0 } = bounds;
  assertKnownKeys("gateway: bounds", bounds, "hosts most");
  const invalidHost = hosts.find((host) => !UPSTREAM_HOST.test(host));
  if (invalidHost !== undefined) {
    throw new TypeError(
      `gateway: bounds.hosts: "${invalidHost}" is no lower-case host name, or *. and the end of one, and a port`,
    );
  }
  if (!Number.isInteger(most) || most < 0 || most > MAX_UPSTREAMS) {
    throw new TypeError(`gateway: bounds.most: ${most} is no whole number from 0 to ${MAX_UPSTREAMS}`);
  }
}

/** All of it but the endpoint `/gateway`, which is the business of who answers HTTP. */
export function createGatewayFeature(options: GatewayOptions): GatewayFeature {
  assertKnownKeys("gateway", options, "serviceBindings pages bounds");
  const { serviceBindings: services = {}, pages = Infinity, bounds } = options;
  if (pages !== Infinity && !(Number.isInteger(pages) && pages > 0)) {
    throw new TypeError("gateway({ pages }) is a whole number from 1");
  }
  if (bounds) checkBounds(bounds);
  return {
    name: "gateway",
    services,
    maxPages: pages,
    results: overflowStore,
    sections: UPSTREAM_SECTIONS,
    checkDocument: (document, env) => [
      ...findBrokenUpstreams(document, { allow: env && outboundAllowOf(env), exposed: services }),
      ...findBrokenBudgets(document),
    ],
    refresh: (context) => refreshDueUpstreams(context, services),
    sources: (context) => createUpstreamSources(context, services),
    upstreams: {
      bounds,
      report: reportUpstreams,
      refresh: (context, id) => refreshUpstream(context, id, services),
      test: (context, id) => tryUpstream(context, id, { services, pages }),
    },
  };
}
