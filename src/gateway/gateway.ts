// Owns the gateway as a feature: the MCP servers elsewhere that a tenant's document names, offered as the tenant's own.

import { resultKeeper } from "./budget/rest.ts";
import { brokenBudgets } from "./budget/result-budget.ts";
import type { Services } from "./guard/service-binding.ts";
import { allowedBy } from "../outbound/outbound-door.ts";
import { refuseStray } from "../protocol/members.ts";
import { refreshUpstream } from "./operate/refresh-upstream.ts";
import { reportUpstreams, UPSTREAM_SECTIONS } from "./operate/report-upstreams.ts";
import { tryUpstream } from "./operate/try-upstream.ts";
import type { GatewayFeature } from "./refresh-entrypoint.ts";
import { tendUpstreams } from "./tend-upstreams.ts";
import type { UpstreamBounds } from "../tenants/document/tenant-document.ts";
import { UPSTREAM_HOST } from "../tenants/document/upstream-hosts.ts";
import { brokenUpstreams, MAX_UPSTREAMS } from "./upstream-rules.ts";
import { upstreamSources } from "./upstream-source.ts";

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
  refuseStray("gateway: bounds", bounds, "hosts most");
  const wrong = hosts.find((host) => !UPSTREAM_HOST.test(host));
  if (wrong !== undefined) {
    throw new TypeError(
      `gateway: bounds.hosts: "${wrong}" is no lower-case host name, or *. and the end of one, and a port`,
    );
  }
  if (!Number.isInteger(most) || most < 0 || most > MAX_UPSTREAMS) {
    throw new TypeError(`gateway: bounds.most: ${most} is no whole number from 0 to ${MAX_UPSTREAMS}`);
  }
}

/** All of it but the endpoint `/gateway`, which is the business of who answers HTTP. */
export function upstreamsFeature(options: GatewayOptions): GatewayFeature {
  refuseStray("gateway", options, "serviceBindings pages bounds");
  const { serviceBindings: services = {}, pages = Infinity, bounds } = options;
  if (pages !== Infinity && !(Number.isInteger(pages) && pages > 0)) {
    throw new TypeError("gateway({ pages }) is a whole number from 1");
  }
  if (bounds) checkBounds(bounds);
  return {
    name: "gateway",
    services,
    mostPages: pages,
    results: resultKeeper,
    sections: UPSTREAM_SECTIONS,
    checkDocument: (document, env) => [
      ...brokenUpstreams(document, { allow: env && allowedBy(env), exposed: services }),
      ...brokenBudgets(document),
    ],
    tend: (ground) => tendUpstreams(ground, services),
    sources: (ground) => upstreamSources(ground, services),
    upstreams: {
      bounds,
      report: reportUpstreams,
      refresh: (ground, id) => refreshUpstream(ground, id, services),
      test: (ground, id) => tryUpstream(ground, id, { services, pages }),
    },
  };
}
