// Builds the catalog of an upstream under `trust: review`: of what it lists now, the approved definitions as they were
// approved. A refresh and a decision may write the section at once, so each checks whether the other came between.

import { canonicalJson, digest } from "../../auth/seal.ts";
import { sectionPlace } from "../../deployment/leased-sections.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import type { TenantStub } from "../../tenants/object/tenant-uid.ts";
import type { SectionWriteResult } from "../../tenants/object/section-store.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { loadSection, writeSection } from "../../tenants/cache/section-cache.ts";
import { KEY_OF } from "../upstream-definition.ts";
import { decodeCatalog, encodeCatalog, flagCatalog, LISTED_KINDS, type UpstreamCatalog } from "../upstream-catalog.ts";
import { reviewStore, type ReviewState, type ListedDefinition } from "./review-store.ts";

/** The upstream's instructions are reviewed like a definition. */
const INSTRUCTIONS = "instructions";
const MAX_TRIES = 5;

/** A catalog that was read, and where to write it. */
export interface PutReviewedOptions<Put> {
  readonly id: string;
  readonly configHash: string;
  readonly catalog: UpstreamCatalog;
  readonly stub: () => TenantStub;
  readonly put: (catalog: UpstreamCatalog) => Promise<Put>;
}

/** Returns "stale" if the upstream was reconfigured; another refresh reads it then. */
export async function putReviewed<Put>({ id, configHash, catalog, stub, put }: PutReviewedOptions<Put>) {
  const reviews = () => createRpcClient(stub(), reviewStore);
  const { unread = [] } = catalog;
  const isListRead = ({ kind }: ListedDefinition) => !unread.some((one) => one === kind);
  const definitions = (await definitionsOf(catalog)).filter(isListRead);
  const outcome = await reviews().recordListed({ id, configHash, definitions, unread });
  if (outcome !== "stored") return outcome;
  return writeUntilStable(id, stub, (inForce) => put(toApprovedCatalog(catalog, inForce)));
}

/**
 * Rewrites the section after a decision, from the catalog that was read last. Returns undefined if there is no catalog
 * under review.
 */
export async function rewriteReviewedSection(
  id: string,
  location: { readonly storageKey: string; readonly bodies: KVNamespace; readonly stub: () => TenantStub },
): Promise<SectionWriteResult | undefined> {
  const sectionLocation = sectionPlace(location.storageKey, location.bodies, location.stub);
  return writeUntilStable(id, location.stub, async (inForce) => {
    const section = inForce.section === null ? undefined : await loadSection(sectionLocation, inForce.section);
    const catalog = section && decodeCatalog(section.bytes);
    if (!catalog || catalog === "broken" || catalog.waiting === undefined) return undefined;
    const bytes = encodeCatalog(flagCatalog(toApprovedCatalog(catalog, inForce)));
    return writeSection(sectionLocation, { name: `upstream:${id}`, bytes });
  });
}

/** Writes again if a refresh or decision happened meanwhile. The last writer then has written everything. */
async function writeUntilStable<T>(
  id: string,
  stub: () => TenantStub,
  write: (state: ReviewState) => Promise<T>,
): Promise<T> {
  const reviews = () => createRpcClient(stub(), reviewStore);
  for (let tries = 1; ; tries += 1) {
    const state = await reviews().getState(id);
    const written = await write(state);
    if (tries === MAX_TRIES || (await reviews().getGeneration(id)) === state.generation) return written;
  }
}

async function definitionsOf({ texts, instructions }: UpstreamCatalog): Promise<ListedDefinition[]> {
  const listed = LISTED_KINDS.flatMap((kind) =>
    texts[kind].map((text) => ({ kind, name: String((JSON.parse(text) as JsonObject)[KEY_OF[kind]]), text })),
  );
  const instructionDefinitions =
    instructions === undefined ? [] : [{ kind: INSTRUCTIONS, name: INSTRUCTIONS, text: wrap(instructions) }];
  return Promise.all(
    [...instructionDefinitions, ...listed].map(async (one) => ({ ...one, digest: await digestOf(one) })),
  );
}

const wrap = (instructions: string): string => JSON.stringify({ instructions });

/** Ignores the order of members. */
async function digestOf({ kind, text }: { readonly kind: string; readonly text: string }): Promise<string> {
  return digest(`${kind} ${canonicalJson(JSON.parse(text))}`);
}

function toApprovedCatalog(catalog: UpstreamCatalog, state: ReviewState): UpstreamCatalog {
  const { instructions: _, ...facts } = catalog;
  const textsOf = (kind: string) => state.approved.filter((one) => one.kind === kind).map(({ text }) => text);
  const [instructionsText] = textsOf(INSTRUCTIONS);
  return {
    ...facts,
    ...(instructionsText !== undefined && {
      instructions: String((JSON.parse(instructionsText) as JsonObject).instructions),
    }),
    waiting: state.waiting,
    texts: {
      tools: textsOf("tools"),
      prompts: textsOf("prompts"),
      resources: textsOf("resources"),
      resourceTemplates: textsOf("resourceTemplates"),
    },
  };
}
