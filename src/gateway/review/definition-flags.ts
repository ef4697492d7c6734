// Owns what in the texts of a definition deserves a second look: characters that nobody sees, and sentences that speak to the
// model as an instruction does. Pure. A flag accuses nobody and hides nothing: it is shown where the definition is.

import { objectMembers } from "../../mcp-client/json-text.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { findTextError } from "../check-definition.ts";

export type DefinitionFlag = "hidden-characters" | "instruction";

/** The key in `_meta` of a definition that has flags; its value is the list of them. */
export const FLAGS_KEY = "tenantry/flags";

/**
 * Control characters but tab and line ends; soft hyphens; marks, embeddings, overrides and isolates of direction; what
 * has no width; tags, and the selectors in which bytes are smuggled. Joiners only beside ASCII: scripts and emoji need them.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e01ef}]|(?<![^\u0000-\u007f])[\u200c\u200d]|[\u200c\u200d](?![^\u0000-\u007f])/u;
const ALL_HIDDEN = /[\p{Cc}\p{Cf}\u{e0100}-\u{e01ef}]/gu;

/** Each is looked for in lower case, with hidden characters taken out and white space made one space. */
const INSTRUCTIONS: readonly RegExp[] = [
  // Set other instructions aside.
  /\b(ignore|disregard|forget|override|bypass) (\w+ ){0,4}(instructions?|prompts?|rules|guidelines|directions)\b/,
  // Keep something from the person.
  /\b(do not|don't|never|must not) (\w+ ){0,2}(tell|inform|mention|reveal|show|notify|alert|warn) (\w+ ){0,5}user\b/,
  /\b(without|avoid) (telling|informing|notifying|alerting|asking|showing|mentioning) (\w+ ){0,3}user\b/,
  /\b(hide|conceal|keep) (\w+ ){0,4}(from|secret from) the user\b/,
  // The form in which systems speak to models.
  /<\/?(important|system|instructions?|secret|admin|assistant|hidden)>|\[(system|inst)\]|<\|im_start\|>/,
  // Come before all other tools.
  /\b(must|always) (\w+ ){0,2}(call|use|run|invoke) this tool (before|instead of|prior to) (any|every|all|each|the other|other)\b/,
  // Take what is nobody's business.
  /\b(send|forward|post|upload|include|pass|read|print|repeat|reveal|output) [^.]{0,60}\b(conversation history|chat history|system prompt|private key|api keys?|passwords?|credentials)\b/,
  /~\/\.ssh\b|\bid_rsa\b|\bid_ed25519\b|\/etc\/(passwd|shadow)\b|\.aws\/credentials\b/,
];

/** Of everything in a definition that is text, names of members included. */
export function flagsOf(definition: unknown): readonly DefinitionFlag[] {
  const text = collectTexts(definition).join("\n");
  const isHidden = HIDDEN.test(text);
  const plain = normalizeText(text).replaceAll(/\s+/g, " ").replaceAll(ALL_HIDDEN, "").toLowerCase();
  const isInstruction = INSTRUCTIONS.some((pattern) => pattern.test(plain));
  return [...(isHidden ? (["hidden-characters"] as const) : []), ...(isInstruction ? (["instruction"] as const) : [])];
}

/** To sort the marks on one letter takes the square of their number, so no more than these are looked at together. */
const CHUNKS = /[^]{1,200}/gu;
/** One character each, of which normalizing makes eighteen and eight. */
const LONG_LIGATURES = /[\ufdfa\ufdfb]/g;

/** With letters of other widths and shapes as plain ones. */
function normalizeText(text: string): string {
  return text.replaceAll(LONG_LIGATURES, " ").replaceAll(CHUNKS, (piece) => piece.normalize("NFKC"));
}

/** Without recursion: the depth is the other side's choice. */
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

/** By the place in their list: the flags of those that have any. */
export type FlagsByIndex = Readonly<Record<string, readonly DefinitionFlag[]>>;

/** undefined: none of them has any. */
export function findFlags(definitions: readonly string[]): FlagsByIndex | undefined {
  const flagged = definitions
    .map((text, at) => [at, flagsOf(JSON.parse(text))] as const)
    .filter(([, flags]) => flags.length > 0);
  return flagged.length === 0 ? undefined : Object.fromEntries(flagged);
}

/** The definition with its flags said in it. */
export function withFlags(wire: JsonObject, flags: readonly DefinitionFlag[] | undefined): JsonObject {
  if (!flags) return wire;
  return { ...wire, _meta: { ...(isObject(wire._meta) ? wire._meta : {}), [FLAGS_KEY]: flags } };
}

const MAX_JSON_MEMBERS = 10_000;

/** The same for the text of a definition: what is not said here stays as it was written. */
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
 * Finds the flags of a definition by its text: what is as it was read was looked through then. undefined: another reader may
 * find something else in it, or more than is looked through.
 */
export function createFlagLookup(
  texts: readonly string[],
  at: FlagsByIndex = {},
): (text: string, wire: unknown) => readonly DefinitionFlag[] | undefined {
  const known = new Map(texts.map((text, place) => [text, at[place] ?? []]));
  return (text, wire) => known.get(text) ?? (findTextError(text, wire) === undefined ? flagsOf(wire) : undefined);
}
