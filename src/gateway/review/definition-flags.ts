// Flags suspicious texts in a definition: invisible characters, and sentences that address the model like an
// instruction. A flag is no proof and hides nothing; it is shown with the definition.

import { objectMembers } from "../../mcp-client/json-text.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { findTextError } from "../upstream-definition.ts";

export type DefinitionFlag = "hidden-characters" | "instruction";

/** The `_meta` key with the list of a definition's flags. */
export const FLAGS_KEY = "tenantry/flags";

/**
 * Control characters except tab and line ends; soft hyphens; directional marks, embeddings, overrides and isolates;
 * zero-width characters; tags; and variation selectors, which can smuggle bytes. Joiners count only next to ASCII,
 * because scripts and emoji need them.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e01ef}]|(?<![^\u0000-\u007f])[\u200c\u200d]|[\u200c\u200d](?![^\u0000-\u007f])/u;
const ALL_HIDDEN = /[\p{Cc}\p{Cf}\u{e0100}-\u{e01ef}]/gu;

/** Matched in lower case, without hidden characters and with white space collapsed. */
const INSTRUCTIONS: readonly RegExp[] = [
  // Override other instructions.
  /\b(ignore|disregard|forget|override|bypass) (\w+ ){0,4}(instructions?|prompts?|rules|guidelines|directions)\b/,
  // Keep something from the user.
  /\b(do not|don't|never|must not) (\w+ ){0,2}(tell|inform|mention|reveal|show|notify|alert|warn) (\w+ ){0,5}user\b/,
  /\b(without|avoid) (telling|informing|notifying|alerting|asking|showing|mentioning) (\w+ ){0,3}user\b/,
  /\b(hide|conceal|keep) (\w+ ){0,4}(from|secret from) the user\b/,
  // Markup with which systems address models.
  /<\/?(important|system|instructions?|secret|admin|assistant|hidden)>|\[(system|inst)\]|<\|im_start\|>/,
  // Demand to run before other tools.
  /\b(must|always) (\w+ ){0,2}(call|use|run|invoke) this tool (before|instead of|prior to) (any|every|all|each|the other|other)\b/,
  // Ask for secrets or private data.
  /\b(send|forward|post|upload|include|pass|read|print|repeat|reveal|output) [^.]{0,60}\b(conversation history|chat history|system prompt|private key|api keys?|passwords?|credentials)\b/,
  /~\/\.ssh\b|\bid_rsa\b|\bid_ed25519\b|\/etc\/(passwd|shadow)\b|\.aws\/credentials\b/,
];

/** Checks every text in a definition, including member names. */
export function flagsOf(definition: unknown): readonly DefinitionFlag[] {
  const text = collectTexts(definition).join("\n");
  const isHidden = HIDDEN.test(text);
  const plain = normalizeText(text).replaceAll(/\s+/g, " ").replaceAll(ALL_HIDDEN, "").toLowerCase();
  const isInstruction = INSTRUCTIONS.some((pattern) => pattern.test(plain));
  return [...(isHidden ? (["hidden-characters"] as const) : []), ...(isInstruction ? (["instruction"] as const) : [])];
}

/** Sorting combining marks takes quadratic time, so at most this many characters are normalized together. */
const CHUNKS = /[^]{1,200}/gu;
/** Single characters that normalize to eighteen and eight. */
const LONG_LIGATURES = /[\ufdfa\ufdfb]/g;

/** Replaces letters of other widths and shapes with plain ones. */
function normalizeText(text: string): string {
  return text.replaceAll(LONG_LIGATURES, " ").replaceAll(CHUNKS, (piece) => piece.normalize("NFKC"));
}

/** Not recursive, because the upstream chooses the depth. */
function collectTexts(definition: unknown): string[] {
  const stack: unknown[] = [definition];
  const texts: string[] = [];
  for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
    if (typeof value === "string") texts.push(value);
    const inside = Array.isArray(value) ? value : isObject(value) ? Object.entries(value).flat() : [];
    for (const item of inside.toReversed()) stack.push(item);
  }
  return texts;
}

/** Flags by index in the list, for definitions that have any. */
export type FlagsByIndex = Readonly<Record<string, readonly DefinitionFlag[]>>;

/** Returns undefined if no definition has flags. */
export function findFlags(definitions: readonly string[]): FlagsByIndex | undefined {
  const flagged = definitions
    .map((text, at) => [at, flagsOf(JSON.parse(text))] as const)
    .filter(([, flags]) => flags.length > 0);
  return flagged.length === 0 ? undefined : Object.fromEntries(flagged);
}

export function withFlags(wire: JsonObject, flags: readonly DefinitionFlag[] | undefined): JsonObject {
  if (!flags) return wire;
  return { ...wire, _meta: { ...(isObject(wire._meta) ? wire._meta : {}), [FLAGS_KEY]: flags } };
}

const MAX_JSON_MEMBERS = 10_000;

/** As `withFlags`, for the JSON text of a definition. Everything else stays as it was written. */
export function addFlagsToText(text: string, flags: readonly DefinitionFlag[]): string {
  const members = objectMembers(text, MAX_JSON_MEMBERS) ?? [];
  const meta = members.find(({ name }) => name === "_meta")?.text ?? "{}";
  const own = objectMembers(meta, MAX_JSON_MEMBERS) ?? [];
  const metaText = joinMembers([...omitMember(own, FLAGS_KEY), { name: FLAGS_KEY, text: JSON.stringify(flags) }]);
  return joinMembers([...omitMember(members, "_meta"), { name: "_meta", text: metaText }]);
}

type Member = NonNullable<ReturnType<typeof objectMembers>>[number];

function omitMember(members: readonly Member[], left: string): Member[] {
  return members.filter(({ name }) => name !== left);
}

function joinMembers(members: readonly Pick<Member, "name" | "text">[]): string {
  return `{${members.map(({ name, text }) => `${JSON.stringify(name)}:${text}`).join()}}`;
}

/**
 * Looks up a definition's flags by its text: an unchanged text was checked when it was read. Returns undefined if
 * another parser could read the text differently, or if it is too long to check.
 */
export function createFlagLookup(
  texts: readonly string[],
  at: FlagsByIndex = {},
): (text: string, wire: unknown) => readonly DefinitionFlag[] | undefined {
  const known = new Map(texts.map((text, place) => [text, at[place] ?? []]));
  return (text, wire) => known.get(text) ?? (findTextError(text, wire) === undefined ? flagsOf(wire) : undefined);
}
