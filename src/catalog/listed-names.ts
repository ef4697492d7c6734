// Owns the names that a view gives to tools and prompts: renamed by a profile, retired with a successor, suspended.
// Refuses to decide which source a name belongs to: a view keeps the first source's of each name before it asks here.

import { failure, SUSPENDED_DATA, type Failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { omitUndefined } from "../protocol/members.ts";
import type { Policy, DeprecatedName } from "../tenants/object/policy-records.ts";
import { renamingOf, type NamedPatterns } from "../tenants/document/tenant-document.ts";

type Wire = JsonObject & { readonly name: string };

/** A tool or prompt: `wire` has the name that the view gives it, `target` the name that its source gives it. */
export interface ListedItem<T> {
  readonly wire: Wire;
  readonly target: T;
}

interface NamedDefinition {
  readonly name: string;
  readonly listedName?: string;
  readonly ownName?: string;
  readonly wire: Wire;
}

/**
 * The wire form, with the name, title and description that a profile gives it. Without a profile's name it has that of
 * its source, by which the view chose it: whatever else the source wrote there would be listed unasked.
 */
export function toListedWire(
  { name, listedName = name, wire }: NamedDefinition,
  patterns: NamedPatterns | undefined,
): Wire {
  const { name: listed = listedName, title, description } = renamingOf(patterns, name) ?? {};
  return { ...wire, ...omitUndefined({ name: listed, title, description }) };
}

/**
 * No name is listed twice: the one that a profile gave stays, before what has the name itself, before what has it only because
 * clients would refuse its own. Code may bring such a name later.
 */
export function removeDuplicateNames<L extends ListedItem<NamedDefinition>>(listed: readonly L[]): readonly L[] {
  const bestRank = new Map<string, number>();
  for (const one of listed)
    bestRank.set(one.wire.name, Math.min(namePriorityOf(one), bestRank.get(one.wire.name) ?? Infinity));
  return listed.filter((one) => namePriorityOf(one) === bestRank.get(one.wire.name));
}

/** -1: a profile gave the name. */
const namePriorityOf = ({ wire, target }: ListedItem<NamedDefinition>) =>
  [target.name, target.listedName].indexOf(wire.name);

/** An operator may have copied the name that is listed, as no tenant is asked when a tool is blocked in all of them. */
export function suspensionNoteOf(
  notes: ReadonlyMap<string, string>,
  { name, listedName = name }: NamedDefinition,
): string | undefined {
  return notes.get(name) ?? notes.get(listedName);
}

/** The retired names of one profile (null: of no profile), by name. */
export function deprecatedNamesOf(
  { retired: deprecated }: Policy,
  kind: DeprecatedName["kind"],
  profile: string | null,
): ReadonlyMap<string, DeprecatedName> {
  const here = deprecated.filter((entry) => entry.kind === kind && entry.profile === profile);
  return new Map(here.map((entry) => [entry.name, entry]));
}

interface NameIndexOptions<T, L> {
  readonly kind: "tool" | "prompt";
  /** Everything that a retired name may lead to, by its source's name. */
  readonly targets: ReadonlyMap<string, T>;
  readonly deprecated: ReadonlyMap<string, DeprecatedName>;
  /** The note on each suspended target, by its source's name. */
  readonly notes: ReadonlyMap<string, string>;
  /** How a target is described that is reached by a retired name. */
  readonly toListed: (target: T) => L;
}

/** By the names that user interfaces know; null: several have it, and a call does not say whose interface makes it. */
function indexByOwnName<L extends ListedItem<NamedDefinition>>(listed: readonly L[]): ReadonlyMap<string, L | null> {
  const byName = new Map<string, L | null>();
  for (const entry of listed) {
    const { ownName } = entry.target;
    if (ownName !== undefined) byName.set(ownName, byName.has(ownName) ? null : entry);
  }
  return byName;
}

/**
 * Looks up listed names, retired ones, and those that user interfaces know. A retired name can be called until its time is
 * over; then a failure names its successor. What is suspended is a failure under either. `now`: milliseconds since the epoch.
 */
export function createNameLookup<T extends NamedDefinition, L extends ListedItem<T>>(
  listed: readonly L[],
  { kind: what, targets, deprecated, notes, toListed: list }: NameIndexOptions<T, L>,
): (name: string, now: number) => L | Failure | undefined {
  // Where a profile gives no other name, the policy name can be called, too.
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
    return byListedName.get(name) ?? (left ? target && list(target) : byInterfaceName.get(name));
  };
  return (name, now) => {
    const deprecation = byListedName.has(name) ? undefined : deprecated.get(nameByListedName.get(name) ?? name);
    const entry = find(name, deprecation);
    if (entry === null) return failure("invalidParams", `Unknown ${what}: ${name}, of which there are several`);
    if (!entry) return undefined;
    const note = suspensionNoteOf(notes, entry.target);
    if (note !== undefined) return failure("suspended", `${name} is suspended: ${note}`, SUSPENDED_DATA);
    if (!deprecation || now < deprecation.until) return entry;
    // The name that the target has now: the one that followed this name may have been retired too.
    const successor = listed.find(({ target: { name: inCode } }) => inCode === deprecation.target)?.wire.name;
    return successor === undefined
      ? undefined
      : failure("invalidParams", `Unknown ${what}: ${name}; it is now called ${successor}`);
  };
}
