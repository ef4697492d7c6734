// Owns what a feed has heard of and not told yet, and how far it has heard.

import type { ChangedSection, ChangeLogName } from "../tenants/object/changes.ts";

/** How far each log of a tenant's changes is known. */
export type ChangeVersions = Readonly<Record<ChangeLogName, number>>;

export interface PendingChanges {
  updated: Set<string>;
  listed: Set<string>;
  announced: Set<ChangedSection>;
  policy: boolean;
  all: boolean;
  resubscribe: boolean;
  /** The least revision of the policy that the view must be computed on. */
  revision: number;
  versions: Record<ChangeLogName, number>;
}

export function createPendingChanges(): PendingChanges {
  return {
    updated: new Set(),
    listed: new Set(),
    announced: new Set(),
    policy: false,
    all: false,
    resubscribe: false,
    revision: 0,
    versions: { definitions: 0, content: 0 },
  };
}

export function maxVersions(a: ChangeVersions, b: ChangeVersions): Record<ChangeLogName, number> {
  return { definitions: Math.max(a.definitions, b.definitions), content: Math.max(a.content, b.content) };
}

/** What could not be told, with what came since. */
export function mergePendingChanges(a: PendingChanges, b: PendingChanges): PendingChanges {
  return {
    updated: new Set([...a.updated, ...b.updated]),
    listed: new Set([...a.listed, ...b.listed]),
    announced: new Set([...a.announced, ...b.announced]),
    policy: a.policy || b.policy,
    all: a.all || b.all,
    resubscribe: a.resubscribe || b.resubscribe,
    revision: Math.max(a.revision, b.revision),
    versions: maxVersions(a.versions, b.versions),
  };
}
