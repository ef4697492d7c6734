// The source of an upstream that was read before: with these definitions, answered by a function of the test's own.

import { configHashOf } from "../../../src/gateway/upstream-config.ts";
import { catalogSection } from "../../../src/gateway/refresh-entrypoint.ts";
import { encodeCatalog, type LinkTransport } from "../../../src/gateway/upstream-catalog.ts";
import { createUpstreamSources, type UpstreamSource } from "../../../src/gateway/upstream-source.ts";
import type { UpstreamDocument } from "../../../src/tenants/document/tenant-document.ts";

export interface ListedThings {
  readonly way: LinkTransport;
  readonly tools?: readonly object[];
  readonly prompts?: readonly object[];
  readonly resources?: readonly object[];
}

export function listedUpstream(upstream: UpstreamDocument, { way, ...things }: ListedThings): UpstreamSource {
  const texts = (all: readonly object[] = []) => all.map((one) => JSON.stringify(one));
  const bytes = encodeCatalog({
    of: configHashOf(upstream),
    way,
    revision: way === "2026" ? "2026-07-28" : "2025-11-25",
    quarantined: [],
    unnamed: 0,
    texts: {
      tools: texts(things.tools),
      prompts: texts(things.prompts),
      resources: texts(things.resources),
      resourceTemplates: [],
    },
  });
  const [source] = createUpstreamSources({
    tenant: "acme",
    document: { upstreams: { up: upstream } },
    sections: new Map([[catalogSection("up"), { hash: "h", bytes }]]),
    server: { name: "test", version: "1" },
  });
  if (!source) throw new Error("the upstream is no source");
  return source;
}
