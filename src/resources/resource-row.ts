// One row of a tenant's resource index, as stored and as read, and the keys and tags derived from it.

export interface ResourceRow {
  readonly uri: string;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly mimeType: string;
  readonly binary: boolean;
  /** Bytes. */
  readonly size: number;
  readonly hash: string;
  /** Grows with every write. It is a time, so a resource that is deleted and written again does not start over. */
  readonly revision: number;
  /** ISO 8601. */
  readonly lastModified: string;
  readonly audience: readonly string[] | null;
  readonly priority: number | null;
  readonly tags: readonly string[];
}

/** A row to be written: the store adds the revision, and the time if it is absent. */
export type NewRow = Omit<ResourceRow, "lastModified" | "revision"> & { readonly lastModified?: string };

/**
 * The KV key of a body. It names tenant and content, so equal bodies of two tenants, or of a deleted tenant and its
 * successor with the same name, are stored and deleted separately.
 */
export function bodyKey(storageKey: string, hash: string): string {
  return `body/${storageKey}/${hash}`;
}

/** The entity tag of a resource. Every write creates a new one, and none repeats. */
export function etagOf({ hash, revision }: Pick<ResourceRow, "hash" | "revision">): string {
  return `${hash}-${revision}`;
}

export interface StoredRow {
  [column: string]: SqlStorageValue;
  id: number;
  uri: string;
  name: string;
  title: string | null;
  description: string | null;
  mime_type: string;
  is_binary: number;
  size: number;
  hash: string;
  revision: number;
  last_modified: string;
  audience: string | null;
  priority: number | null;
  tags: string;
}

export function toResourceRow(row: StoredRow): ResourceRow {
  return {
    uri: row.uri,
    name: row.name,
    title: row.title,
    description: row.description,
    mimeType: row.mime_type,
    binary: row.is_binary === 1,
    size: row.size,
    hash: row.hash,
    revision: row.revision,
    lastModified: row.last_modified,
    audience: row.audience === null ? null : (JSON.parse(row.audience) as string[]),
    priority: row.priority,
    tags: JSON.parse(row.tags) as string[],
  };
}

/** Whether the entry in the list of resources changed. Size and time do not count: they change with every write. */
export function isListingChanged(before: ResourceRow, after: ResourceRow): boolean {
  const listedFields = ({ name, title, description, mimeType, audience, priority }: ResourceRow) =>
    JSON.stringify([name, title, description, mimeType, audience, priority]);
  return listedFields(before) !== listedFields(after);
}
