// Reports a tenant's upstreams to operators: what each lists, what is left out and why, and when it was and will be
// read. Does not contact any upstream.

import type { UpstreamContent, UpstreamContext, UpstreamReport } from "../../deployment/deployment.ts";
import { createLeasedSections } from "../../deployment/leased-sections.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import type { UpstreamDocument } from "../../tenants/document/tenant-document.ts";
import type { Section } from "../../tenants/cache/section-cache.ts";
import { gatewayStore, type RefreshState } from "../gateway-store.ts";
import { catalogSection, failureSection } from "../refresh-entrypoint.ts";
import { KEY_OF } from "../upstream-definition.ts";
import { decodeCatalog, LISTED_KINDS, type UpstreamCatalog } from "../upstream-catalog.ts";
import { configHashOf } from "../upstream-config.ts";
import { parseFailureNote, upstreamState } from "../upstream-source.ts";
import { withDetail } from "../read-failure.ts";

type Sections = ReadonlyMap<string, Section>;

/** Sections from which upstream sources are built. */
export const UPSTREAM_SECTIONS = createLeasedSections((name) => /^upstream(-failing)?:/.test(name));

export async function reportUpstreams(context: UpstreamContext): Promise<ReadonlyMap<string, UpstreamReport>> {
  const [{ sections }, readings] = await Promise.all([
    UPSTREAM_SECTIONS.load(context),
    createRpcClient(context.stub(), gatewayStore).getRefreshStates(),
  ]);
  const { upstreams = {} } = context.document;
  return new Map(
    Object.entries(upstreams).map(([id, upstream]) => {
      const reading = readings.find((one) => one.id === id && one.configHash === configHashOf(upstream));
      return [id, reportOf(id, upstream, { sections, reading })];
    }),
  );
}

function reportOf(
  id: string,
  upstream: UpstreamDocument,
  { sections, reading }: { readonly sections: Sections; readonly reading: RefreshState | undefined },
): UpstreamReport {
  const configHash = configHashOf(upstream);
  const section = sections.get(catalogSection(id));
  const read = section && decodeCatalog(section.bytes, configHash);
  const catalog = read === "broken" ? undefined : read;
  const known = { content: catalog ? contentOf(catalog) : null, lastRead: reading?.readAt || null };
  // A disabled upstream is not refreshed, so its other facts are outdated.
  if (upstream.enabled === false) {
    return { ...known, state: "disabled", why: null, causes: [], since: null, nextRead: null, reading: false };
  }
  const note = parseFailureNote(sections.get(failureSection(id)), configHash);
  const { kind: state, ...more } = upstreamState(catalog, note);
  return {
    ...known,
    ...readingOf(reading),
    state,
    why: "why" in more ? withDetail(more.why, note?.detail) : null,
    causes: ("causes" in more && more.causes) || [],
    since: note?.since ?? null,
  };
}

function readingOf(reading: RefreshState | undefined): Pick<UpstreamReport, "nextRead" | "reading"> {
  if (!reading) return { nextRead: null, reading: false };
  return { nextRead: reading.dueAt, reading: reading.claimedUntil > Date.now() };
}

export function contentOf(catalog: UpstreamCatalog): UpstreamContent {
  const { way, revision, texts, quarantined, unnamed, capped, skipped = 0 } = catalog;
  const counts = {
    tools: texts.tools.length,
    prompts: texts.prompts.length,
    resources: texts.resources.length,
    resourceTemplates: texts.resourceTemplates.length,
  };
  return { way, revision, counts, quarantined, unnamed, flagged: flaggedOf(catalog), capped: capped ?? null, skipped };
}

const MAX_FLAGGED = 100;

function flaggedOf({ texts, flagged = {} }: UpstreamCatalog): UpstreamContent["flagged"] {
  const all = LISTED_KINDS.flatMap((kind) =>
    Object.entries(flagged[kind] ?? {}).map(([at, flags]) => ({ kind, text: texts[kind][Number(at)] ?? "{}", flags })),
  );
  return all.slice(0, MAX_FLAGGED).map(({ kind, text, flags }) => {
    const name = String((JSON.parse(text) as JsonObject)[KEY_OF[kind]]).slice(0, 128);
    return { kind, name, flags };
  });
}
