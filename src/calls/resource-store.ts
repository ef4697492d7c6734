// Owns what `ctx.resources` is: the stored resources of a tenant, as far as a view sees them. Refuses to know where they lie.

export interface ResourceMeta {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType: string;
  readonly size: number;
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
  list(options?: {
    prefix?: string;
    tag?: string;
    cursor?: string;
    limit?: number;
  }): Promise<{ items: ResourceMeta[]; cursor?: string }>;
  get(uri: string): Promise<ResourceMeta | undefined>;
  read(uri: string): Promise<(ResourceMeta & ResourceBody) | undefined>;
  write(resource: NewResource, options?: { ifAbsent?: boolean }): Promise<ResourceMeta>;
  delete(uri: string): Promise<boolean>;
  search(query: string, options?: { limit?: number; prefix?: string }): Promise<(ResourceMeta & { score: number })[]>;
  tags(options?: { prefix?: string }): Promise<{ tag: string; count: number }[]>;
  /** URIs that start with this text. */
  uris(prefix: string, limit: number): Promise<readonly string[]>;
}
