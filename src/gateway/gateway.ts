// The gateway feature without its HTTP endpoint: MCP servers in a tenant's document, served as the tenant's own.

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
  /**
   * Service bindings that upstreams may use if an operator grants them to the tenant, such as `{ BILLING: (env) =>
   * env.BILLING }`.
   */
  readonly serviceBindings?: Services;
  /**
   * Maximum pages that one refresh reads over all lists of an upstream. Unlimited by default. Each page is a
   * subrequest. Cloudflare's free plan allows 50 per invocation, so 30 is a good value there.
   */
  readonly pages?: number;
  /**
   * Upstreams that a tenant's own administrator may configure, such as `{ hosts: ["*.example.com"], most: 5 }`. `hosts`
   * are lower-case names or `*.` patterns with an optional port; `most` is a number of upstreams. Applies if neither
   * the tenant's document nor its base has `upstreamBounds`. Default: none.
   */
  readonly bounds?: UpstreamBounds;
}

/** Throws a TypeError that names the invalid value. */
function checkBounds(bounds: UpstreamBounds): void {
  const { hosts = [], most = 0 } = bounds;
  assertKnownKeys("gateway: bounds", bounds, "hosts most");
  const invalidHost = hosts.find((host) => !UPSTREAM_HOST.test(host));
  if (invalidHost !== undefined) {
    throw new TypeError(
      `gateway: bounds.hosts: "${invalidHost}" must be a lower-case host name, such as mcp.example.com, *.example.com or mcp.example.com:8443`,
    );
  }
  if (!Number.isInteger(most) || most < 0 || most > MAX_UPSTREAMS) {
    throw new TypeError(`gateway: bounds.most must be a whole number from 0 to ${MAX_UPSTREAMS}, not ${most}`);
  }
}

/** Everything except the endpoint `/gateway`, which belongs to the HTTP layer. */
export function createGatewayFeature(options: GatewayOptions): GatewayFeature {
  assertKnownKeys("gateway", options, "serviceBindings pages bounds");
  const { serviceBindings: services = {}, pages = Infinity, bounds } = options;
  if (pages !== Infinity && !(Number.isInteger(pages) && pages > 0)) {
    throw new TypeError(`gateway: pages must be a whole number from 1, not ${pages}`);
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
