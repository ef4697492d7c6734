// An upstream's catalog as last read, and its encoding as a policy section. Definitions are stored exactly as the
// upstream wrote them. A section of another configuration is refused, because it may be another server's.

import type { Cause, CauseCode } from "../protocol/cause.ts";
import type { ListedKind } from "../protocol/definition.ts";
import { arrayElements, getMembers, objectMembers } from "../mcp-client/json-text.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { CacheHint } from "../protocol/call-outcome.ts";
import { isDefinition, isText, arrayOf, objectWith } from "./upstream-definition.ts";
import { findFlags, flagsOf, withFlags, type FlagsByIndex } from "./review/definition-flags.ts";

export type LinkTransport = "2025" | "2026" | "http-sse";

export const LISTED_KINDS: readonly ListedKind[] = ["tools", "prompts", "resources", "resourceTemplates"];

/** A definition that is not listed, and why. Without `code`, the definition itself is malformed. */
export interface Quarantined {
  readonly kind: ListedKind | "instructions";
  readonly name: string;
  readonly why: string;
  readonly code?: CauseCode;
}

export interface UpstreamFacts {
  /** `configHashOf` of the upstream when it was read. */
  readonly of: string;
  readonly way: LinkTransport;
  readonly revision: string;
  readonly instructions?: string;
  /** The upstream declares log messages. */
  readonly logging?: true;
  /**
   * The upstream does not declare completion, in a revision that can. Absent if it may complete, or if that is unknown.
   */
  readonly completes?: false;
  /** Cache hint of the upstream's lists. Absent if they have none. */
  readonly cache?: CacheHint;
  readonly quarantined: readonly Quarantined[];
  /** How many more definitions are quarantined but not named. */
  readonly unnamed: number;
  /** Under `trust: review`: how many definitions wait for a decision. Absent without review. */
  readonly waiting?: number;
  /** Flagged definitions, by their index in their list. */
  readonly flagged?: Readonly<Partial<Record<ListedKind, FlagsByIndex>>>;
  /** Describes the parts that were too large to read or failed. Absent if everything was read. */
  readonly capped?: string;
  /** The same as codes. */
  readonly cappedBy?: readonly Cause[];
  /** Lists that could not be read. They contain the last good definitions. */
  readonly unread?: readonly ListedKind[];
  /** How many stream events were not messages, in the first read that met some. */
  readonly skipped?: number;
}

export interface UpstreamCatalog extends UpstreamFacts {
  /** Each definition as the upstream wrote it. */
  readonly texts: Readonly<Record<ListedKind, readonly string[]>>;
}

/** Fills lists that could not be read with those of an earlier read. */
export function withLastGood(catalog: UpstreamCatalog, last: UpstreamCatalog): UpstreamCatalog {
  const { unread = [] } = catalog;
  const lastTexts = unread.map((kind) => [kind, last.texts[kind]] as const);
  const isUnread = ({ kind }: Quarantined) => unread.some((one) => one === kind);
  const quarantined = [...catalog.quarantined.filter((one) => !isUnread(one)), ...last.quarantined.filter(isUnread)];
  const texts = { ...catalog.texts, ...Object.fromEntries(lastTexts) };
  // Keeps the old count: a new count alone would be a change, and all isolates would load the section again.
  const skipped = catalog.skipped !== undefined && last.skipped !== undefined && { skipped: last.skipped };
  return { ...catalog, texts, quarantined, ...skipped };
}

/** More than any list may have. */
const MAX_LISTED = 10_000;
const FACTS = "facts";

/**
 * The catalog to store, with flags computed once. Instructions cannot carry flags, so flagged instructions without
 * approval are left out.
 */
export function flagCatalog(source: UpstreamCatalog): UpstreamCatalog {
  const { flagged: _, instructions, ...catalog } = source;
  const flaggedLists = Object.entries(catalog.texts).map(([kind, all]) => [kind, findFlags(all)] as const);
  const flagged = Object.fromEntries(flaggedLists.filter(([, at]) => at !== undefined));
  const flags = catalog.waiting === undefined ? flagsOf(instructions ?? "") : [];
  const name = "instructions";
  const flaggedInstructions: Quarantined[] =
    flags.length === 0 ? [] : [{ kind: name, name, why: `flagged, ${flags.join(", ")}` }];
  return {
    ...catalog,
    ...(instructions !== undefined && flags.length === 0 && { instructions }),
    ...(Object.keys(flagged).length > 0 && { flagged }),
    quarantined: [...flaggedInstructions, ...catalog.quarantined],
  };
}

export function encodeCatalog({ texts, ...facts }: UpstreamCatalog): Uint8Array {
  const lists = LISTED_KINDS.map((kind) => `"${kind}":[${texts[kind].join()}]`);
  return new TextEncoder().encode(`{"${FACTS}":${JSON.stringify(facts)},${lists.join()}}`);
}

/**
 * Returns undefined if the section is of another configuration; without `configHash` any configuration is accepted. Returns
 * `broken` if this release cannot read it. A release that encodes catalogs differently must change `configHashOf`, so that
 * no release meets another's sections.
 */
export function decodeCatalog(bytes: Uint8Array, configHash?: string): UpstreamCatalog | "broken" | undefined {
  const members = objectMembers(new TextDecoder().decode(bytes), LISTED_KINDS.length + 1);
  const textByName = new Map(members?.map(({ name, text }) => [name, text]));
  const facts: unknown = JSON.parse(textByName.get(FACTS) ?? "null");
  if (!isUpstreamFacts(facts)) return "broken";
  if (configHash !== undefined && facts.of !== configHash) return undefined;
  const texts = LISTED_KINDS.map((kind) => arrayElements(textByName.get(kind) ?? "", MAX_LISTED));
  const [tools, prompts, resources, resourceTemplates] = texts;
  if (!tools || !prompts || !resources || !resourceTemplates) return "broken";
  return { ...facts, texts: { tools, prompts, resources, resourceTemplates } };
}

/** Checks only the members that are used. */
const isUpstreamFacts = objectWith(
  {
    of: isText,
    instructions: isText,
    quarantined: arrayOf(objectWith({ kind: isText, name: isText }, "name")),
    cache: objectWith({ ttlMs: Number.isSafeInteger }, "ttlMs"),
  },
  "quarantined",
) as (facts: unknown) => facts is UpstreamFacts;

export interface ParsedTool {
  readonly wire: JsonObject;
  readonly texts: ReadonlyMap<string, string> | undefined;
}

export interface ParsedSection {
  readonly catalog: UpstreamCatalog;
  readonly wires: {
    readonly tools: readonly ParsedTool[];
    readonly prompts: readonly JsonObject[];
    readonly resources: readonly JsonObject[];
    readonly resourceTemplates: readonly JsonObject[];
  };
}

interface Section {
  readonly bytes: Uint8Array;
}

/**
 * The isolate caches sections, so it caches what it parsed from them too. Other parts of a policy change more often.
 */
const parsedSections = new WeakMap<Section, ParsedSection>();
const SCHEMAS: ReadonlySet<string> = new Set(["inputSchema", "outputSchema"]);

/** Returns undefined or `broken` as `decodeCatalog` does. */
export function parseSection(section: Section, configHash: string): ParsedSection | "broken" | undefined {
  const cached = parsedSections.get(section);
  if (cached?.catalog.of === configHash) return cached;
  const catalog = decodeCatalog(section.bytes, configHash);
  if (!catalog || catalog === "broken") return catalog;
  const { texts, flagged } = catalog;
  const parsed = (kind: ListedKind) =>
    texts[kind].map((text, at) => {
      const wire: unknown = JSON.parse(text);
      return isDefinition(kind, wire) ? withFlags(wire, flagged?.[kind]?.[at]) : undefined;
    });
  const [tools, prompts, resources, resourceTemplates] = LISTED_KINDS.map(parsed).map(allDefined);
  if (!tools || !prompts || !resources || !resourceTemplates) return "broken";
  const toolsWithTexts = tools.map((wire, at) => ({ wire, texts: getMembers(SCHEMAS, texts.tools[at] ?? "") }));
  const wires = { tools: toolsWithTexts, prompts, resources, resourceTemplates };
  const read = { catalog, wires };
  parsedSections.set(section, read);
  return read;
}

function allDefined<T>(all: readonly (T | undefined)[]): readonly T[] | undefined {
  return all.every((one) => one !== undefined) ? all : undefined;
}

type CatalogGaps = Pick<UpstreamFacts, "capped" | "cappedBy" | "quarantined" | "unnamed" | "waiting">;

/** The gaps of a catalog in words, or undefined if it is complete. */
export function describeGaps({ capped, quarantined, unnamed, waiting = 0 }: CatalogGaps): string | undefined {
  const [first] = quarantined;
  const count = quarantined.length + unnamed;
  const leftOut =
    first && `${count} ${count === 1 ? "definition is" : "definitions are"} left out: ${first.name}: ${first.why}`;
  const pending =
    waiting === 0 ? undefined : `${waiting} ${waiting === 1 ? "definition waits" : "definitions wait"} for approval`;
  return [capped, pending, leftOut].filter((text) => text !== undefined).join("; ") || undefined;
}

/** The codes that correspond to `describeGaps`. */
export function causesOfGaps({ cappedBy = [], quarantined, waiting = 0 }: CatalogGaps): readonly Cause[] {
  const [first] = quarantined;
  return [
    ...cappedBy,
    ...(waiting === 0 ? [] : [{ code: "waiting" } as const]),
    ...(first ? [{ code: first.code ?? "left-out" }] : []),
  ];
}
