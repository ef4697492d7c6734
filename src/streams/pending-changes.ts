// The changes that a feed has received and not sent yet, and the versions up to which it has received them.

import type { ChangedSection, ChangeLogName } from "../tenants/object/changes.ts";

/** The known version of each change log of a tenant. */
export type ChangeVersions = Readonly<Record<ChangeLogName, number>>;

export interface PendingChanges {
  updated: Set<string>;
  listed: Set<string>;
  announced: Set<ChangedSection>;
  policy: boolean;
  all: boolean;
  resubscribe: boolean;
  /** The lowest revision of the policy on which the view must be computed. */
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

/** Merges changes that could not be sent with newer ones. */
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
