// Owns the gateway as a feature: the MCP servers elsewhere that a tenant's document names, offered as the tenant's own.
// A Worker without it has none of this in its bundle.

import type { Feature } from "../deployment/deployment.ts";
import { resultKeeper } from "./budget/rest.ts";
import { brokenBudgets } from "./budget/result-budget.ts";
import { resultTables } from "./budget/result-tables.ts";
import { VIA, viaOfAnswer, WHOSE } from "./guard/circle.ts";
import type { Services } from "./guard/service-binding.ts";
import { gatewayTables } from "./gateway-tables.ts";
import { allowedBy } from "./outbound-fetch.ts";
import { refreshUpstream } from "./operate/refresh-upstream.ts";
import { reportUpstreams, UPSTREAM_SECTIONS } from "./operate/report-upstreams.ts";
import { tryUpstream } from "./operate/try-upstream.ts";
import { reviewTables } from "./review/review-tables.ts";
import { UpstreamRefreshes } from "./refresh-entrypoint.ts";
import { UpstreamObject } from "./sessions/upstream-object.ts";
import { tendUpstreams } from "./tend-upstreams.ts";
import { brokenUpstreams } from "./upstream-rules.ts";
import { upstreamSources, type UpstreamSource } from "./upstream-source.ts";

export interface GatewayOptions {
  /** Service bindings that upstreams may be, where an operator grants them: `{ BILLING: (env) => env.BILLING }`. */
  readonly services?: Services;
  /**
   * The most pages that one reading takes of all lists of an upstream. Each is a subrequest, of which the free plan of
   * Cloudflare allows 50 in an invocation: there 30 leave room for the rest.
   */
  readonly pages?: number;
}

/** All of it but the endpoint `/gateway`, which is the business of who answers HTTP. */
export function upstreamsFeature({ services = {}, pages = Infinity }: GatewayOptions): Feature<{
  readonly UpstreamRefreshes: typeof UpstreamRefreshes;
  readonly UpstreamObject: typeof UpstreamObject;
}> {
  if (pages !== Infinity && !(Number.isInteger(pages) && pages > 0)) {
    throw new TypeError("gateway({ pages }) is a whole number from 1");
  }
  return {
    name: "gateway",
    bindings: ["UPSTREAMS"],
    objects: {
      UpstreamObject,
      UpstreamRefreshes: class extends UpstreamRefreshes {
        static override readonly services = services;
        static override readonly pages = pages;
      },
    },
    tables: [gatewayTables, reviewTables, resultTables],
    results: resultKeeper,
    sections: UPSTREAM_SECTIONS,
    checkDocument: (document, env) => [
      ...brokenUpstreams(document, { allow: env && allowedBy(env), exposed: services }),
      ...brokenBudgets(document),
    ],
    tend: (ground) => tendUpstreams(ground, services),
    sources: (ground) => upstreamSources(ground, services),
    via: async (host, headers) => {
      if (host.clientHeader(VIA) !== WHOSE) return;
      const sources = host.view.shown.map((source) => (source as Partial<UpstreamSource>).catalog?.via);
      headers.set(VIA, await viaOfAnswer(host.ring, sources));
    },
    upstreams: {
      report: reportUpstreams,
      refresh: (ground, id) => refreshUpstream(ground, id, services),
      test: (ground, id) => tryUpstream(ground, id, { services, pages }),
    },
  };
}
