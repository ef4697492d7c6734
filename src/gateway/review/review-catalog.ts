// Owns what is listed of an upstream under `trust: review`: what was approved, as it was written then, of what the upstream
// lists now. Two may write it at once, a reading and a decision: each looks whether the other came between.

import { canonicalJson, digest } from "../../auth/seal.ts";
import { sectionPlace } from "../../deployment/leased-sections.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import type { TenantStub } from "../../tenants/authority/incarnation.ts";
import type { SectionWrite } from "../../tenants/authority/section-tables.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { loadSection, writeSection } from "../../tenants/isolate/sections.ts";
import { KEY_OF } from "../check-definition.ts";
import { decodeCatalog, encodeCatalog, flagCatalog, LISTED_KINDS, type UpstreamCatalog } from "../upstream-catalog.ts";
import { reviewTables, type InForce, type SeenDefinition } from "./review-tables.ts";

/** What an upstream says to the model of itself is looked at like a definition. */
const INSTRUCTIONS = "instructions";
const TRIES = 5;

/** A catalog that was read, and where it goes. */
export interface Reviewed<Put> {
  readonly id: string;
  readonly config: string;
  readonly catalog: UpstreamCatalog;
  readonly stub: () => TenantStub;
  readonly put: (catalog: UpstreamCatalog) => Promise<Put>;
}

/** "stale": the upstream is configured anew, and somebody else reads it. */
export async function putReviewed<Put>({ id, config, catalog, stub, put }: Reviewed<Put>) {
  const reviews = () => remote(stub(), reviewTables);
  const { unread = [] } = catalog;
  const isRead = ({ kind }: SeenDefinition) => !unread.some((one) => one === kind);
  const definitions = (await definitionsOf(catalog)).filter(isRead);
  const kept = await reviews().seen({ id, config, definitions, unread });
  if (kept !== "kept") return kept;
  return untilUndisturbed(id, stub, (inForce) => put(approvedOf(catalog, inForce)));
}

/** After a decision: what is listed now, of what was read last. undefined: nothing is, so there is nothing to change. */
export async function listDecided(
  id: string,
  at: { readonly kept: string; readonly bodies: KVNamespace; readonly stub: () => TenantStub },
): Promise<SectionWrite | undefined> {
  const place = sectionPlace(at.kept, at.bodies, at.stub);
  return untilUndisturbed(id, at.stub, async (inForce) => {
    const section = inForce.section === null ? undefined : await loadSection(place, inForce.section);
    const catalog = section && decodeCatalog(section.bytes);
    if (!catalog || catalog === "broken" || catalog.waiting === undefined) return undefined;
    const bytes = encodeCatalog(flagCatalog(approvedOf(catalog, inForce)));
    return writeSection(place, { name: `upstream:${id}`, bytes });
  });
}

/** Writes again while somebody else read or decided meanwhile. Whoever is last then has written all of it. */
async function untilUndisturbed<T>(
  id: string,
  stub: () => TenantStub,
  write: (inForce: InForce) => Promise<T>,
): Promise<T> {
  const reviews = () => remote(stub(), reviewTables);
  for (let tries = 1; ; tries += 1) {
    const inForce = await reviews().inForce(id);
    const written = await write(inForce);
    if (tries === TRIES || (await reviews().generation(id)) === inForce.generation) return written;
  }
}

async function definitionsOf({ texts, instructions }: UpstreamCatalog): Promise<SeenDefinition[]> {
  const listed = LISTED_KINDS.flatMap((kind) =>
    texts[kind].map((text) => ({ kind, name: String((JSON.parse(text) as JsonObject)[KEY_OF[kind]]), text })),
  );
  const told = instructions === undefined ? [] : [{ kind: INSTRUCTIONS, name: INSTRUCTIONS, text: wrap(instructions) }];
  return Promise.all([...told, ...listed].map(async (one) => ({ ...one, digest: await digestOf(one) })));
}

const wrap = (instructions: string): string => JSON.stringify({ instructions });

/** The same for definitions that differ in nothing but the order of members. */
async function digestOf({ kind, text }: { readonly kind: string; readonly text: string }): Promise<string> {
  return digest(`${kind} ${canonicalJson(JSON.parse(text))}`);
}

function approvedOf(catalog: UpstreamCatalog, inForce: InForce): UpstreamCatalog {
  const { instructions: _, ...facts } = catalog;
  const of = (kind: string) => inForce.approved.filter((one) => one.kind === kind).map(({ text }) => text);
  const [told] = of(INSTRUCTIONS);
  return {
    ...facts,
    ...(told !== undefined && { instructions: String((JSON.parse(told) as JsonObject).instructions) }),
    waiting: inForce.waiting,
    texts: {
      tools: of("tools"),
      prompts: of("prompts"),
      resources: of("resources"),
      resourceTemplates: of("resourceTemplates"),
    },
  };
}
