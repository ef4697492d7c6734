// Checks that the tools and prompts that a document names exist. A new exact name that matches nothing is an error,
// with the nearest name as a suggestion. A name that an upstream may list later is pending, and a pattern only causes
// a warning. URIs are not checked: resources are stored after the document.

import { MAX_PATTERN_WORK } from "../../resources/pattern-budget.ts";
import { splitName } from "../../gateway/listed-name.ts";
import type { CatalogNames } from "../../tenants/document/deprecation.ts";
import { isFullGlob, matcherOf } from "../../tenants/document/glob.ts";
import { MAX_FIELD_RULES, type TenantDocument, type FieldRule } from "../../tenants/document/tenant-document.ts";
import { suggestName } from "../../protocol/did-you-mean.ts";

const KINDS = ["tools", "prompts"] as const;
type Kind = (typeof KINDS)[number];

/**
 * The most warnings of one answer; errors are never dropped for warnings. One error more than an answer lists shows
 * that the list is truncated.
 */
const MAX_WARNINGS = 100;
/** The most names with a suggestion: each is compared with all known names. */
const MAX_SUGGESTIONS = 5;

/** A name or a pattern of names in a document. */
interface Reference {
  /** The path without list indexes, so that moving an entry within a list does not make it new. */
  readonly member: string;
  readonly field: string;
  readonly kind: Kind;
  readonly name: string;
  /** For a name in a profile: the profile's renamings, from the new name to the original. */
  readonly renamed?: ReadonlyMap<string, string>;
}

/** The definitions that a name can refer to. */
export interface KnownNames {
  readonly tools: ReadonlySet<string>;
  /** undefined: each tenant has prompts of its own. */
  readonly prompts: ReadonlySet<string> | undefined;
  readonly listed?: CatalogNames["listed"];
  /** Whether the upstream of this id may list more definitions later. */
  readonly mayListLater: (upstream: string) => boolean;
}

export interface ReferenceErrors {
  readonly errors: readonly FieldRule[];
  readonly warnings: readonly FieldRule[];
}

/** `merged`: the document over its bases and the tenant's code. */
export function knownNamesOf({ tools, prompts, search, listed }: CatalogNames, merged: TenantDocument): KnownNames {
  return {
    tools: new Set([...tools, ...search]),
    prompts: new Set([...prompts, ...Object.keys(merged.prompts ?? {})]),
    ...(listed && { listed }),
    mayListLater: (upstream) => Object.hasOwn(merged.upstreams ?? {}, upstream),
  };
}

/** `before`: the stored document. Its references stay valid even if the names no longer exist. */
export function checkNameReferences(own: TenantDocument, before: TenantDocument, names: KnownNames): ReferenceErrors {
  const previousKeys = new Set(referencesIn(before).map(keyOf));
  const addedReferences = referencesIn(own).filter((reference) => !previousKeys.has(keyOf(reference)));
  const characters = { tools: charactersOf(names.tools), prompts: charactersOf(names.prompts) };
  let work = 0;
  const result = { errors: [] as FieldRule[], warnings: [] as FieldRule[] };
  for (const reference of addedReferences) {
    const canWarn = result.warnings.length < MAX_WARNINGS;
    if (isPattern(reference.name)) {
      // Patterns that would take longer to match get no warning.
      work += characters[reference.kind] * (isFullGlob(reference.name) ? reference.name.length : 1);
      if (!canWarn || work > MAX_PATTERN_WORK) continue;
    }
    if (result.errors.length > MAX_FIELD_RULES) break;
    const canSuggest = result.errors.length + result.warnings.length < MAX_SUGGESTIONS;
    checkReference(reference, names, result, canSuggest);
  }
  return { ...result, warnings: result.warnings.slice(0, MAX_WARNINGS) };
}

export function warningsMember(warnings: readonly FieldRule[]): { warnings?: FieldRule[] } {
  return warnings.length === 0 ? {} : { warnings: [...warnings] };
}

const keyOf = ({ member, kind, name }: Reference) => JSON.stringify([member, kind, name]);

function referencesIn({ tools = {}, profiles = {}, scopes = {} }: TenantDocument): Reference[] {
  const namedReferences = (member: string, kind: Kind, names: object = {}) =>
    Object.keys(names).map((name): Reference => ({ member, field: `${member}.${name}`, kind, name }));
  const listedReferences = (member: string, kind: Kind, names: readonly string[] = []) =>
    names.map((name, at): Reference => ({ member, field: `${member}.${at}`, kind, name }));
  return [
    ...namedReferences("tools", "tools", tools),
    ...Object.entries(profiles).flatMap(([profile, profileDocument]) =>
      KINDS.flatMap((kind) => {
        const path = `profiles.${profile}.${kind}`;
        const { allow, deny, rename = {} } = profileDocument[kind] ?? {};
        const renamed = new Map(Object.entries(rename).flatMap(([of, { name }]) => (name ? [[name, of]] : [])));
        const selected = [
          ...listedReferences(`${path}.allow`, kind, allow),
          ...listedReferences(`${path}.deny`, kind, deny),
        ];
        return [...selected.map((one) => ({ ...one, renamed })), ...namedReferences(`${path}.rename`, kind, rename)];
      }),
    ),
    ...Object.entries(scopes).flatMap(([scope, scopeDocument]) =>
      KINDS.flatMap((kind) => listedReferences(`scopes.${scope}.${kind}`, kind, scopeDocument[kind])),
    ),
  ];
}

function charactersOf(names: Iterable<string> = []): number {
  return [...names].reduce((sum, { length }) => sum + length, 0);
}

const isPattern = (name: string) => /[*?]/.test(name);

const NO_NAMES: ReadonlySet<string> = new Set();

type MutableErrors = { readonly [List in keyof ReferenceErrors]: FieldRule[] };

function checkReference(
  reference: Reference,
  names: KnownNames,
  { errors, warnings }: MutableErrors,
  canSuggest: boolean,
): void {
  const { field, kind, name } = reference;
  const { [kind]: validNames } = names;
  if (!validNames || validNames.has(name)) return;
  if (isPattern(name)) {
    const matches = mayMatchLater(name, names) || [...validNames].some(matcherOf(name));
    if (!matches) warnings.push({ field, rule: `no ${kind.slice(0, -1)} matches it now` });
    return;
  }
  const id = pendingUpstreamOf(name, names);
  if (id !== undefined) warnings.push({ field, rule: pendingText(name, id, canSuggest ? validNames : NO_NAMES) });
  else
    errors.push({
      field,
      rule: `there is no ${kind.slice(0, -1)} of this name${suggestionText(reference, canSuggest ? validNames : NO_NAMES, names.listed?.get(name))}`,
    });
}

function suggestionText(
  { name, renamed }: Reference,
  validNames: ReadonlySet<string>,
  policyName: string | undefined,
): string {
  const originalName = renamed?.get(name);
  if (originalName !== undefined) return `: rename gives ${originalName} this name, so write ${originalName}`;
  const suggestion = policyName ?? suggestName(name, validNames);
  return suggestion === undefined ? "" : `: did you mean ${suggestion}?`;
}

/**
 * The upstream that may list the name later; undefined: none, or the name is a renamed definition of another
 * upstream.
 */
function pendingUpstreamOf(name: string, { mayListLater: mayHave, listed }: KnownNames): string | undefined {
  const { id } = splitName(name) ?? {};
  return id !== undefined && mayHave(id) && !listed?.has(name) ? id : undefined;
}

/** Whether the pattern starts with the prefix of an upstream that may list more later. */
function mayMatchLater(pattern: string, { mayListLater: mayHave }: KnownNames): boolean {
  const { id } = splitName(pattern) ?? {};
  return id !== undefined && !/[*?]/.test(id) && mayHave(id);
}

/** Suggests only names of the same upstream, and compares them without their common prefix. */
function pendingText(name: string, id: string, validNames: ReadonlySet<string>): string {
  const begin = `${id}__`;
  const upstreamNames = [...validNames].flatMap((one) => (one.startsWith(begin) ? [one.slice(begin.length)] : []));
  const suggestion = suggestName(name.slice(begin.length), upstreamNames);
  const hint = suggestion === undefined ? "" : `; did you mean ${begin}${suggestion}?`;
  return `pending: the upstream ${id} lists no such name now${hint}`;
}
