// Owns what `ctx.resources` is: the stored resources of a tenant, as far as a view sees them. Refuses to know where
// they are kept.

/** A mistake of whoever sent the cursor, and none of the handler that passed it on. */
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

export type NewResource = {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly audience?: readonly ("user" | "assistant")[];
  readonly priority?: number;
  readonly tags?: readonly string[];
  /** ISO 8601; the moment of the write when absent. */
  readonly lastModified?: string;
} & ResourceBody;

export interface ResourceStore {
  /** In the order of URIs; `limit`: 100 by default, 1000 at most. The cursor leads to the next page. */
  list(options?: {
    prefix?: string;
    tag?: string;
    cursor?: string;
    limit?: number;
  }): Promise<{ items: ResourceMeta[]; cursor?: string }>;
  get(uri: string): Promise<ResourceMeta | undefined>;
  read(uri: string): Promise<(ResourceMeta & ResourceBody) | undefined>;
  /**
   * Stores the resource, in the place of one with the same URI. `ifAbsent`: leaves that one, and gives what it is.
   * Throws a UserError for what breaks a rule, and where the tenant has no room for another.
   */
  write(resource: NewResource, options?: { ifAbsent?: boolean }): Promise<ResourceMeta>;
  /** Whether there was such a resource. */
  delete(uri: string): Promise<boolean>;
  /** The best match first, with the largest score; `limit`: 10 by default, 100 at most. */
  search(query: string, options?: { limit?: number; prefix?: string }): Promise<(ResourceMeta & { score: number })[]>;
  /** Each tag with the number of resources that have it. */
  tags(options?: { prefix?: string }): Promise<{ tag: string; count: number }[]>;
  /** URIs that start with this text, in their order. */
  uris(prefix: string, limit: number): Promise<readonly string[]>;
}
