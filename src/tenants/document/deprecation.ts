// Finds the names that a document change replaces, and until when clients can still call them: clients keep the list
// that they once read. A name without a successor was removed, and a removal is in effect when it is acknowledged.

import { DEFAULT_DEPRECATION_DAYS, renamingOf, type ProfileDocument, type TenantDocument } from "./tenant-document.ts";
import type { DeprecatedName } from "../object/policy-records.ts";
import { isVisible } from "./visibility.ts";

/** The names of everything that a tenant's sources offer, as the sources spell them. */
export interface CatalogNames {
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  /** The listed name by the source's name. Only for names that clients would refuse. */
  readonly listed?: ReadonlyMap<string, string>;
  /** Tools that exist only while the document or the profile switches search on. */
  readonly search: readonly string[];
}

const DAY = 86_400_000;
const KINDS = ["tools", "prompts"] as const;
type Kind = (typeof KINDS)[number];

/** Both documents include their base documents. `now` and `until` are milliseconds since the epoch. */
export function findDeprecatedNames(
  before: TenantDocument,
  after: TenantDocument,
  catalog: CatalogNames,
  now: number,
): DeprecatedName[] {
  const until = now + (after.deprecatedNameDays ?? DEFAULT_DEPRECATION_DAYS) * DAY;
  if (until <= now) return [];
  return profilesInBoth(before, after).flatMap((profile) =>
    KINDS.flatMap((kind) => {
      const names = renamedNames(
        kind,
        [before, after].map(({ profiles }) => (profile === null ? {} : profiles?.[profile])),
      );
      const namesBefore = listedNames(before, profile, { kind, catalog, names });
      const namesAfter = listedNames(after, profile, { kind, catalog, names });
      const successors = new Map([...namesAfter].map(([name, target]) => [target, name]));
      return [...namesBefore].flatMap(([name, target]) => {
        const successor = namesAfter.has(name) ? undefined : successors.get(target);
        return successor === undefined ? [] : [{ kind, profile, name, target, successor, until }];
      });
    }),
  );
}

/**
 * The profiles that are in both documents, and null for no profile. A profile that was removed has no URL for calls.
 */
function profilesInBoth(before: TenantDocument, after: TenantDocument): (string | null)[] {
  return [null, ...Object.keys(before.profiles ?? {}).filter((name) => Object.hasOwn(after.profiles ?? {}, name))];
}

/**
 * The things that profiles rename, and their new names. All other things keep their own name, hidden or not. So
 * thousands of tools need no check in each of hundreds of profiles.
 */
export function renamedNames(kind: Kind, profiles: readonly (ProfileDocument | undefined)[]): ReadonlySet<string> {
  const renamings = profiles.flatMap((profile) => Object.entries(profile?.[kind]?.rename ?? {}));
  return new Set(renamings.flatMap(([target, { name }]) => (name === undefined ? [] : [target, name])));
}

interface NameQuery {
  readonly kind: Kind;
  readonly catalog: CatalogNames;
  readonly names: ReadonlySet<string>;
}

/** Lists each of `names` that a principal without scopes sees. Maps the listed name to the source's name. */
function listedNames(
  document: TenantDocument,
  profile: string | null,
  { kind, catalog, names }: NameQuery,
): ReadonlyMap<string, string> {
  const profileDocument = profile === null ? undefined : document.profiles?.[profile];
  const filter = { profile: profileDocument, scopes: undefined };
  const targets = targetsOf(document, profileDocument, kind, catalog).filter(
    (name) => names.has(name) && isVisible(document, filter, kind, name),
  );
  return new Map(targets.map((name) => [renamingOf(profileDocument?.[kind], name)?.name ?? name, name]));
}

/** The source's name of everything that the document could list, before visibility is applied. */
export function targetsOf(
  document: TenantDocument,
  profile: ProfileDocument | undefined,
  kind: Kind,
  catalog: CatalogNames,
): string[] {
  if (kind === "prompts") return [...new Set([...catalog.prompts, ...Object.keys(document.prompts ?? {})])];
  return (profile?.search ?? document.search ?? false) ? [...catalog.tools, ...catalog.search] : [...catalog.tools];
}
