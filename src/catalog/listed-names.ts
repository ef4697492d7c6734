// The names of tools and prompts in a view: renamed by a profile, deprecated in favor of a successor, or suspended. The
// view removes duplicates between sources before.

import { failure, SUSPENDED_DATA, type Failure } from "../protocol/errors.ts";
import type { NamedWire, ViewItem } from "../protocol/definition.ts";
import { omitUndefined } from "../protocol/members.ts";
import type { Policy, DeprecatedName } from "../tenants/object/policy-records.ts";
import { renamingOf, type NamedPatterns } from "../tenants/document/tenant-document.ts";

interface NamedDefinition {
  readonly name: string;
  readonly listedName?: string;
  readonly ownName?: string;
  readonly wire: NamedWire;
}

/**
 * The definition with the name, title and description that a profile gives. Without a profile's name it has the
 * source's name, which the view checked: a source must not list itself under an unchecked name.
 */
export function toViewItem<T extends NamedDefinition>(target: T, patterns: NamedPatterns | undefined): ViewItem<T> {
  const { name, listedName = name, wire } = target;
  const { name: listed = listedName, title, description } = renamingOf(patterns, name) ?? {};
  return { wire: { ...wire, ...omitUndefined({ name: listed, title, description }) }, target };
}

/**
 * Removes duplicate listed names. A name that a profile gave wins, then an original name, then a name that replaces one
 * which clients would reject. New code may bring such a duplicate later.
 */
export function removeDuplicateNames<T extends NamedDefinition>(
  listed: readonly ViewItem<T>[],
): readonly ViewItem<T>[] {
  const bestRank = new Map<string, number>();
  for (const one of listed)
    bestRank.set(one.wire.name, Math.min(namePriorityOf(one), bestRank.get(one.wire.name) ?? Infinity));
  return listed.filter((one) => namePriorityOf(one) === bestRank.get(one.wire.name));
}

/** -1: a profile gave the name. */
const namePriorityOf = ({ wire, target }: ViewItem<NamedDefinition>) =>
  [target.name, target.listedName].indexOf(wire.name);

/**
 * Checks the listed name too: an operator may have copied it, because a block for all tenants does not know any
 * tenant's names.
 */
export function suspensionNoteOf(
  notes: ReadonlyMap<string, string>,
  { name, listedName = name }: NamedDefinition,
): string | undefined {
  return notes.get(name) ?? notes.get(listedName);
}

/** The deprecated names of one profile (null: without a profile), by name. */
export function deprecatedNamesOf(
  { deprecatedNames: deprecated }: Policy,
  kind: DeprecatedName["kind"],
  profile: string | null,
): ReadonlyMap<string, DeprecatedName> {
  const here = deprecated.filter((entry) => entry.kind === kind && entry.profile === profile);
  return new Map(here.map((entry) => [entry.name, entry]));
}

interface NameIndexOptions<T> {
  readonly kind: "tool" | "prompt";
  /** Everything that a deprecated name may resolve to, by the source's name. */
  readonly targets: ReadonlyMap<string, T>;
  readonly deprecated: ReadonlyMap<string, DeprecatedName>;
  /** The note on each suspended target, by the source's name. */
  readonly notes: ReadonlyMap<string, string>;
}

/**
 * Index by the names that user interfaces know. null: several definitions have the name, and a call does not say whose
 * interface makes it.
 */
function indexByOwnName<T extends NamedDefinition>(
  listed: readonly ViewItem<T>[],
): ReadonlyMap<string, ViewItem<T> | null> {
  const byName = new Map<string, ViewItem<T> | null>();
  for (const entry of listed) {
    const { ownName } = entry.target;
    if (ownName !== undefined) byName.set(ownName, byName.has(ownName) ? null : entry);
  }
  return byName;
}

/**
 * Looks up listed names, deprecated names, and names that user interfaces know. A deprecated name works until its time
 * is over; then a failure names its successor. A suspended target fails under any name. `now`: milliseconds since the
 * epoch.
 */
export function createNameLookup<T extends NamedDefinition>(
  listed: readonly ViewItem<T>[],
  { kind: what, targets, deprecated, notes }: NameIndexOptions<T>,
): (name: string, now: number) => ViewItem<T> | Failure | undefined {
  // Unless a profile renames it, a definition can also be called by the name in the policy.
  const byListedName = new Map([
    ...listed.filter((one) => namePriorityOf(one) === 1).map((entry) => [entry.target.name, entry] as const),
    ...listed.map((entry) => [entry.wire.name, entry] as const),
  ]);
  const nameByListedName = new Map(
    [...targets.values()].flatMap(({ name, listedName }) => (listedName === undefined ? [] : [[listedName, name]])),
  );
  const byInterfaceName = indexByOwnName(listed);
  const find = (name: string, left: DeprecatedName | undefined) => {
    const target = left && targets.get(left.target);
    return byListedName.get(name) ?? (left ? target && toViewItem(target, undefined) : byInterfaceName.get(name));
  };
  return (name, now) => {
    const deprecation = byListedName.has(name) ? undefined : deprecated.get(nameByListedName.get(name) ?? name);
    const entry = find(name, deprecation);
    if (entry === null)
      return failure("invalidParams", `Unknown ${what}: ${name}; several sources have it, so use a name from the list`);
    if (!entry) return undefined;
    const note = suspensionNoteOf(notes, entry.target);
    if (note !== undefined) return failure("suspended", `${name} is suspended: ${note}`, SUSPENDED_DATA);
    if (!deprecation || now < deprecation.until) return entry;
    // The target's current name: the successor of this name may be deprecated too.
    const successor = listed.find(({ target: { name: inCode } }) => inCode === deprecation.target)?.wire.name;
    return successor === undefined
      ? undefined
      : failure("invalidParams", `Unknown ${what}: ${name}; it is now called ${successor}`);
  };
}
