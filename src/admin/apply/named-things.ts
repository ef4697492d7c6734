// Owns that the tools and prompts a document names are there. An exact name that matches nothing is refused where it was not
// written before, with the nearest one; one that an upstream may list later is pending, and a pattern is only warned of. Pure.
// Refuses to judge URIs: what is stored comes after the document.

import { MOST_WORK } from "../../content/store/pattern-work.ts";
import { splitName } from "../../gateway/listed-name.ts";
import type { CatalogNames } from "../../tenants/document/retirement.ts";
import { isInner, matcherOf } from "../../tenants/document/glob.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { MAX_ERRORS, type FieldRule } from "../field-rule.ts";
import { nearName } from "../near-name.ts";

const KINDS = ["tools", "prompts"] as const;
type Kind = (typeof KINDS)[number];

/** The most warnings of one answer, which hide no refusal. One refusal more than an answer lists shows that there are others. */
const MOST_SAID = 100;
/** Of these it is said what was meant: each is compared with the names that there are. */
const MOST_MEANT = 5;

/** A name, or a pattern of names, where a document has it. */
interface Reference {
  /** Without a place in a list: what moves in it is not written anew. */
  readonly member: string;
  readonly field: string;
  readonly kind: Kind;
  readonly name: string;
  /** Of a name in a profile: which name the profile gives it, by what it is called there. */
  readonly renamed?: ReadonlyMap<string, string>;
}

/** What a name can stand for. */
export interface NamedThings {
  readonly tools: ReadonlySet<string>;
  /** undefined: every tenant has its own. */
  readonly prompts: ReadonlySet<string> | undefined;
  /** As of `CatalogNames`. */
  readonly listed?: CatalogNames["listed"];
  /** Whether something of an upstream of this id may be listed later. */
  readonly mayHave: (upstream: string) => boolean;
}

export interface JudgedNames {
  readonly refused: readonly FieldRule[];
  readonly warnings: readonly FieldRule[];
}

/** `whole`: what the document is over its bases and the tenant's code. */
export function thingsOf({ tools, prompts, search, listed }: CatalogNames, whole: TenantDocument): NamedThings {
  return {
    tools: new Set([...tools, ...search]),
    prompts: new Set([...prompts, ...Object.keys(whole.prompts ?? {})]),
    ...(listed && { listed }),
    mayHave: (upstream) => Object.hasOwn(whole.upstreams ?? {}, upstream),
  };
}

/** `before`: the document as it is stored. What it says already stays, whatever has become of the names. */
export function judgeNames(own: TenantDocument, before: TenantDocument, things: NamedThings): JudgedNames {
  const stored = new Set(referencesIn(before).map(keyOf));
  const fresh = referencesIn(own).filter((reference) => !stored.has(keyOf(reference)));
  const characters = { tools: charactersOf(things.tools), prompts: charactersOf(things.prompts) };
  let work = 0;
  const said = { refused: [] as FieldRule[], warnings: [] as FieldRule[] };
  for (const reference of fresh) {
    const isWarned = said.warnings.length < MOST_SAID;
    if (isPattern(reference.name)) {
      // Of patterns that would take longer nobody is warned.
      work += characters[reference.kind] * (isInner(reference.name) ? reference.name.length : 1);
      if (!isWarned || work > MOST_WORK) continue;
    }
    if (said.refused.length > MAX_ERRORS) break;
    const isCompared = said.refused.length + said.warnings.length < MOST_MEANT;
    judge(reference, things, said, isCompared);
  }
  return { ...said, warnings: said.warnings.slice(0, MOST_SAID) };
}

/** Said only where there is something to say. */
export function warned(warnings: readonly FieldRule[]): { warnings?: FieldRule[] } {
  return warnings.length === 0 ? {} : { warnings: [...warnings] };
}

const keyOf = ({ member, kind, name }: Reference) => JSON.stringify([member, kind, name]);

function referencesIn({ tools = {}, profiles = {}, scopes = {} }: TenantDocument): Reference[] {
  const named = (member: string, kind: Kind, names: object = {}) =>
    Object.keys(names).map((name): Reference => ({ member, field: `${member}.${name}`, kind, name }));
  const listed = (member: string, kind: Kind, names: readonly string[] = []) =>
    names.map((name, at): Reference => ({ member, field: `${member}.${at}`, kind, name }));
  return [
    ...named("tools", "tools", tools),
    ...Object.entries(profiles).flatMap(([profile, seen]) =>
      KINDS.flatMap((kind) => {
        const at = `profiles.${profile}.${kind}`;
        const { allow, deny, rename = {} } = seen[kind] ?? {};
        const renamed = new Map(Object.entries(rename).flatMap(([of, { name }]) => (name ? [[name, of]] : [])));
        const selected = [...listed(`${at}.allow`, kind, allow), ...listed(`${at}.deny`, kind, deny)];
        return [...selected.map((one) => ({ ...one, renamed })), ...named(`${at}.rename`, kind, rename)];
      }),
    ),
    ...Object.entries(scopes).flatMap(([scope, granted]) =>
      KINDS.flatMap((kind) => listed(`scopes.${scope}.${kind}`, kind, granted[kind])),
    ),
  ];
}

function charactersOf(names: Iterable<string> = []): number {
  return [...names].reduce((sum, { length }) => sum + length, 0);
}

const isPattern = (name: string) => /[*?]/.test(name);

const NOTHING: ReadonlySet<string> = new Set();

type Said = { readonly [List in keyof JudgedNames]: FieldRule[] };

function judge(reference: Reference, things: NamedThings, { refused, warnings }: Said, isCompared: boolean): void {
  const { field, kind, name } = reference;
  const { [kind]: known } = things;
  if (!known || known.has(name)) return;
  if (isPattern(name)) {
    const matches = mayMatchLater(name, things) || [...known].some(matcherOf(name));
    if (!matches) warnings.push({ field, rule: `no ${kind.slice(0, -1)} matches it now` });
    return;
  }
  const id = laterOf(name, things);
  if (id !== undefined) warnings.push({ field, rule: pending(name, id, isCompared ? known : NOTHING) });
  else
    refused.push({
      field,
      rule: `there is no ${kind.slice(0, -1)} of this name${meant(reference, isCompared ? known : NOTHING, things.listed?.get(name))}`,
    });
}

function meant({ name, renamed }: Reference, known: ReadonlySet<string>, policyName: string | undefined): string {
  const own = renamed?.get(name);
  if (own !== undefined) return `: rename calls ${own} so, write that`;
  const near = policyName ?? nearName(name, known);
  return near === undefined ? "" : `: did you mean ${near}?`;
}

/** The upstream that may list it later; undefined: none, or it is the changed name of what has another one. */
function laterOf(name: string, { mayHave, listed }: NamedThings): string | undefined {
  const { id } = splitName(name) ?? {};
  return id !== undefined && mayHave(id) && !listed?.has(name) ? id : undefined;
}

/** Whether it begins as the names of an upstream do. */
function mayMatchLater(pattern: string, { mayHave }: NamedThings): boolean {
  const { id } = splitName(pattern) ?? {};
  return id !== undefined && !/[*?]/.test(id) && mayHave(id);
}

/** Only what the same upstream lists was meant: what all its names begin with says nothing about how near they are. */
function pending(name: string, id: string, known: ReadonlySet<string>): string {
  const begin = `${id}__`;
  const own = [...known].flatMap((one) => (one.startsWith(begin) ? [one.slice(begin.length)] : []));
  const near = nearName(name.slice(begin.length), own);
  const said = near === undefined ? "" : `; did you mean ${begin}${near}?`;
  return `pending: the upstream ${id} lists no such name now${said}`;
}
