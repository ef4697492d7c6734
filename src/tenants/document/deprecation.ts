// Owns which names a change of a document replaces by others, and until when they can still be called: clients keep the
// list they once read. A name without a successor was taken away, and that is in force when it is acknowledged. Pure.

import { DEFAULT_RETIREMENT_DAYS, renamingOf, type ProfileDocument, type TenantDocument } from "./tenant-document.ts";
import type { DeprecatedName } from "../object/policy-records.ts";
import { isVisible } from "./visibility.ts";

/** The names of what a tenant's sources offer, as the sources call it. */
export interface CatalogNames {
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  /** By the name under which it is listed, of what clients would refuse under its own. */
  readonly listed?: ReadonlyMap<string, string>;
  /** Tools that exist only while the document or the profile switches search on. */
  readonly search: readonly string[];
}

const DAY = 86_400_000;
const KINDS = ["tools", "prompts"] as const;
type Kind = (typeof KINDS)[number];

/** Both documents are whole: what lies under them is merged in. `now` and `until` are milliseconds since the epoch. */
export function findDeprecatedNames(
  before: TenantDocument,
  after: TenantDocument,
  catalog: CatalogNames,
  now: number,
): DeprecatedName[] {
  const until = now + (after.deprecatedNameDays ?? DEFAULT_RETIREMENT_DAYS) * DAY;
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

/** null for no profile, and the profiles in both documents: one that is gone has no URL at which to call anything. */
function profilesInBoth(before: TenantDocument, after: TenantDocument): (string | null)[] {
  return [null, ...Object.keys(before.profiles ?? {}).filter((name) => Object.hasOwn(after.profiles ?? {}, name))];
}

/**
 * What profiles give names to, and the names. Everything else has its own, whatever is hidden: of thousands of tools and
 * hundreds of profiles nobody has to look whether each is seen in each.
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

/** Of `names`, each that is listed with the name that its source gives it, as seen by a principal whom no scopes limit. */
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

/** The source's name of everything that the document could list, before anything is hidden. */
export function targetsOf(
  document: TenantDocument,
  profile: ProfileDocument | undefined,
  kind: Kind,
  catalog: CatalogNames,
): string[] {
  if (kind === "prompts") return [...new Set([...catalog.prompts, ...Object.keys(document.prompts ?? {})])];
  return (profile?.search ?? document.search ?? false) ? [...catalog.tools, ...catalog.search] : [...catalog.tools];
}
