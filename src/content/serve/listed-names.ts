// Owns the names that a view gives to tools and prompts: renamed by a profile, retired with a successor, suspended.
// A name in code is never another source's: which of two things has a name was decided before.

import { failure, type Failure } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import type { Policy, RetiredName } from "../../tenants/authority/policy-records.ts";
import { renamingOf, type NamedPatterns } from "../../tenants/document/tenant-document.ts";
import { isVisible, type Eyes } from "../../tenants/document/visibility.ts";

type Wire = JsonObject & { readonly name: string };

/** A tool or prompt under the name that a view gives it; `target`: under the name of its source. */
export interface Listed<T> {
  readonly wire: Wire;
  readonly target: T;
}

interface Named {
  readonly name: string;
  readonly wire: Wire;
}

/** The wire form as a profile has it. */
export function listNamed({ name, wire }: Named, patterns: NamedPatterns | undefined): Wire {
  const renaming = renamingOf(patterns, name);
  if (!renaming) return wire;
  const { name: given, title, description } = renaming;
  return {
    ...wire,
    name: given ?? wire.name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
  };
}

/** Code may have brought a name that a profile gave to another thing before: the profile's goes on, and nothing is listed twice. */
export function withoutGivenNames<L extends Listed<Named>>(listed: readonly L[]): readonly L[] {
  const given = new Set(listed.filter(({ wire, target }) => wire.name !== target.name).map(({ wire }) => wire.name));
  return listed.filter(({ wire, target }) => wire.name !== target.name || !given.has(target.name));
}

export function isInScope({ scopes }: Eyes, kind: "tools" | "prompts", name: string): boolean {
  return isVisible({}, { profile: undefined, scopes }, kind, name);
}

export function retiredIn(
  { retired }: Policy,
  kind: RetiredName["kind"],
  profile: string | null,
): ReadonlyMap<string, RetiredName> {
  const here = retired.filter((entry) => entry.kind === kind && entry.profile === profile);
  return new Map(here.map((entry) => [entry.name, entry]));
}

interface Names<T, L> {
  readonly what: "tool" | "prompt";
  readonly targets: ReadonlyMap<string, T>;
  readonly retired: ReadonlyMap<string, RetiredName>;
  /** Why a target is suspended, by its source's name. */
  readonly notes: ReadonlyMap<string, string>;
  readonly list: (target: T) => L;
}

/** A listed name, or one that is listed no more: callable while it retires, then told where it went. Never when blocked. */
export function lookUpName<T extends Named, L extends Listed<T>>(
  listed: readonly L[],
  { what, targets, retired, notes, list }: Names<T, L>,
): (name: string, now: number) => L | Failure | undefined {
  const here = new Map(listed.map((entry) => [entry.wire.name, entry]));
  return (name, now) => {
    const left = here.has(name) ? undefined : retired.get(name);
    const target = left && targets.get(left.target);
    const entry = here.get(name) ?? (target && list(target));
    if (!entry) return undefined;
    const note = notes.get(entry.target.name);
    if (note !== undefined) return failure("suspended", `${name} is suspended: ${note}`);
    if (!left || now < left.until) return entry;
    // As it is called by now: the name that followed this one may have been given up too.
    const successor = listed.find(({ target: { name: inCode } }) => inCode === left.target)?.wire.name;
    const next = successor === undefined ? "it was withdrawn" : `it is now called ${successor}`;
    return failure("invalidParams", `Unknown ${what}: ${name}; ${next}`);
  };
}
