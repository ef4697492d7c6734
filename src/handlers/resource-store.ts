// The interface of `ctx.resources`: the tenant's stored resources that the caller may see.

/** An invalid cursor. The client that sent it made the error, not the handler that passed it on. */
export class InvalidCursorError extends TypeError {}

export interface ResourceMeta {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType: string;
  /** Bytes. */
  readonly size: number;
  /** ISO 8601. */
  readonly lastModified: string;
  readonly audience?: readonly ("user" | "assistant")[];
  readonly priority?: number;
  readonly tags: readonly string[];
}

export type ResourceBody =
  | { readonly text: string; readonly blob?: never }
  | { readonly blob: Uint8Array; readonly text?: never };

/** A resource to store. Its body is `text` or `blob`, at most 25 MiB or the tenant's own limit. */
export type NewResource = {
  readonly uri: string;
  /** 1 to 256 characters. */
  readonly name: string;
  /** At most 256 characters. */
  readonly title?: string;
  /** At most 4096 characters. */
  readonly description?: string;
  /** `text/plain` by default for a text, `application/octet-stream` for bytes. */
  readonly mimeType?: string;
  readonly audience?: readonly ("user" | "assistant")[];
  /** From 0 to 1. */
  readonly priority?: number;
  /** At most 64 tags of 1 to 100 characters. */
  readonly tags?: readonly string[];
  /** ISO 8601; the time of the write by default. */
  readonly lastModified?: string;
} & ResourceBody;

export interface ResourceStore {
  /**
   * Lists resources in the order of their URIs. `limit`: 100 by default, at most 1000. Pass the returned `cursor` to
   * get the next page; the last page has none.
   */
  list(options?: {
    prefix?: string;
    tag?: string;
    cursor?: string;
    limit?: number;
  }): Promise<{ items: ResourceMeta[]; cursor?: string }>;
  /** Resolves to the metadata; undefined if the resource does not exist or is hidden from the caller. */
  get(uri: string): Promise<ResourceMeta | undefined>;
  /** Like `get`, with the body. */
  read(uri: string): Promise<(ResourceMeta & ResourceBody) | undefined>;
  /**
   * Stores the resource, replacing one with the same URI. With `ifAbsent` an existing resource stays, and its metadata
   * is returned. Throws a UserError if the resource breaks a rule or exceeds the tenant's storage limits.
   */
  write(resource: NewResource, options?: { ifAbsent?: boolean }): Promise<ResourceMeta>;
  /** Deletes a resource. Resolves to whether it existed. */
  delete(uri: string): Promise<boolean>;
  /** Full-text search, best match first (the highest score). `limit`: 10 by default, at most 100. */
  search(query: string, options?: { limit?: number; prefix?: string }): Promise<(ResourceMeta & { score: number })[]>;
  /** The 1000 most used tags, each with the number of resources that have it. */
  tags(options?: { prefix?: string }): Promise<{ tag: string; count: number }[]>;
  /** URIs that start with this prefix, in order. */
  uris(prefix: string, limit: number): Promise<readonly string[]>;
}
