// Owns what an upstream offers as it was last read, and its form as a leased section: definitions stand in it as the
// upstream wrote them. Pure. Refuses a section of another configuration: it may be another server's.

import type { Cause, CauseCode } from "../protocol/cause.ts";
import type { ListedKind } from "../protocol/definition.ts";
import { arrayElements, getMembers, objectMembers } from "../mcp-client/json-text.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { CacheHint } from "../protocol/call-outcome.ts";
import { isDefinition, isText, arrayOf, objectWith } from "./check-definition.ts";
import { findFlags, flagsOf, withFlags, type FlagsByIndex } from "./review/definition-flags.ts";

/** How an upstream is spoken to. */
export type LinkTransport = "2025" | "2026" | "http-sse";

export const LISTED_KINDS: readonly ListedKind[] = ["tools", "prompts", "resources", "resourceTemplates"];

/** One definition that is not listed, and why; absent `code`: the definition itself is not as it must be. */
export interface Quarantined {
  readonly kind: ListedKind | "instructions";
  readonly name: string;
  readonly why: string;
  readonly code?: CauseCode;
}

export interface UpstreamFacts {
  /** The configuration with which it was read: `configOf`. */
  readonly of: string;
  readonly way: LinkTransport;
  readonly revision: string;
  readonly instructions?: string;
  /** It says that it sends log messages. */
  readonly logging?: true;
  /** It says that it completes nothing, where its revision has a word for that; absent: it may, or nobody asked. */
  readonly completes?: false;
  /** As the upstream's lists say; absent where they say nothing. */
  readonly cache?: CacheHint;
  readonly quarantined: readonly Quarantined[];
  /** How many more are not listed. */
  readonly unnamed: number;
  /** Under `trust: review`: how many definitions wait for a decision. Absent: none is asked for. */
  readonly waiting?: number;
  /** Which definitions deserve a second look, by their place in their list. */
  readonly flagged?: Readonly<Partial<Record<ListedKind, FlagsByIndex>>>;
  /** What was not read, because it was too much or failed; absent: everything was. */
  readonly capped?: string;
  /** The same as codes. */
  readonly cappedBy?: readonly Cause[];
  /** The lists that could not be read: what stands in their place are the last good ones. */
  readonly unread?: readonly ListedKind[];
  /** How many events of its streams were no messages, in the first of the readings that met some. */
  readonly skipped?: number;
}

export interface UpstreamCatalog extends UpstreamFacts {
  /** Each definition as the upstream wrote it. */
  readonly texts: Readonly<Record<ListedKind, readonly string[]>>;
}

/** With what an earlier reading found in the place of lists that could not be read now. */
export function withLastGood(catalog: UpstreamCatalog, last: UpstreamCatalog): UpstreamCatalog {
  const { unread = [] } = catalog;
  const lastTexts = unread.map((kind) => [kind, last.texts[kind]] as const);
  const isUnread = ({ kind }: Quarantined) => unread.some((one) => one === kind);
  const quarantined = [...catalog.quarantined.filter((one) => !isUnread(one)), ...last.quarantined.filter(isUnread)];
  const texts = { ...catalog.texts, ...Object.fromEntries(lastTexts) };
  // A count alone is no change, for which all would be written and served anew.
  const skipped = catalog.skipped !== undefined && last.skipped !== undefined && { skipped: last.skipped };
  return { ...catalog, texts, quarantined, ...skipped };
}

/** More than any list may have. */
const MAX_LISTED = 10_000;
const FACTS = "facts";

/**
 * As it is kept: what deserves a second look is found once. Instructions have no place where that could be said: those
 * that nobody approved are left out.
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
 * undefined: it is of another configuration; absent `of`: whichever it is of. `broken`: it is nothing that this release
 * can read. A release that writes catalogs another way says so in `configOf`, so that none meets another's.
 */
export function decodeCatalog(bytes: Uint8Array, config?: string): UpstreamCatalog | "broken" | undefined {
  const members = objectMembers(new TextDecoder().decode(bytes), LISTED_KINDS.length + 1);
  const textByName = new Map(members?.map(({ name, text }) => [name, text]));
  const facts: unknown = JSON.parse(textByName.get(FACTS) ?? "null");
  if (!isUpstreamFacts(facts)) return "broken";
  if (config !== undefined && facts.of !== config) return undefined;
  const texts = LISTED_KINDS.map((kind) => arrayElements(textByName.get(kind) ?? "", MAX_LISTED));
  const [tools, prompts, resources, resourceTemplates] = texts;
  if (!tools || !prompts || !resources || !resourceTemplates) return "broken";
  return { ...facts, texts: { tools, prompts, resources, resourceTemplates } };
}

/** What nothing is made of may be whatever it is. */
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

/** As it was loaded. */
interface Section {
  readonly bytes: Uint8Array;
}

/** A section is kept by this isolate, and so is what was read in it: other parts of a policy change more often. */
const parsedSections = new WeakMap<Section, ParsedSection>();
const SCHEMAS: ReadonlySet<string> = new Set(["inputSchema", "outputSchema"]);

/** undefined and `broken`: as `decodeCatalog`. */
export function parseSection(section: Section, config: string): ParsedSection | "broken" | undefined {
  const cached = parsedSections.get(section);
  if (cached?.catalog.of === config) return cached;
  const catalog = decodeCatalog(section.bytes, config);
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

/** What a catalog lacks, in words; undefined: nothing. */
export function describeGaps({ capped, quarantined, unnamed, waiting = 0 }: CatalogGaps): string | undefined {
  const [first] = quarantined;
  const count = quarantined.length + unnamed;
  const leftOut =
    first && `${count} ${count === 1 ? "definition is" : "definitions are"} left out: ${first.name}: ${first.why}`;
  const pending =
    waiting === 0 ? undefined : `${waiting} ${waiting === 1 ? "definition waits" : "definitions wait"} for approval`;
  return [capped, pending, leftOut].filter((text) => text !== undefined).join("; ") || undefined;
}

/** `lackOf` as codes. */
export function causesOfGaps({ cappedBy = [], quarantined, waiting = 0 }: CatalogGaps): readonly Cause[] {
  const [first] = quarantined;
  return [
    ...cappedBy,
    ...(waiting === 0 ? [] : [{ code: "waiting" } as const]),
    ...(first ? [{ code: first.code ?? "left-out" }] : []),
  ];
}
