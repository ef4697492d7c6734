// A tenant's resources through the admin API, and the hashes of stored and local bodies.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { ResourceShape, Infer } from "../../admin/contract.ts";
import { collectPages, type AdminApi, type UploadBody } from "./admin-client.ts";

export type ResourceInfo = Infer<typeof ResourceShape>;

/** The metadata of a resource beside its body. */
export type ResourceFields = Pick<ResourceInfo, "name" | "mimeType" | "tags"> &
  Partial<Pick<ResourceInfo, "title" | "description" | "audience" | "priority" | "binary" | "lastModified">>;

export interface ResourceClient {
  all(prefix: string): Promise<Map<string, ResourceInfo>>;
  find(uri: string): Promise<ResourceInfo | undefined>;
  get(uri: string): Promise<Response>;
  put(
    uri: string,
    fields: ResourceFields,
    body: UploadBody,
    condition: Readonly<Record<string, string>>,
  ): Promise<void>;
  remove(uri: string, condition: Readonly<Record<string, string>>): Promise<void>;
}

export function createResourceClient(api: AdminApi, tenant: string): ResourceClient {
  const params = { id: tenant };
  const list = (prefix: string, limit?: number) =>
    collectPages(api.pages("GET /tenants/{id}/resources", { params, query: prefix === "" ? {} : { prefix } }, limit));
  return {
    all: async (prefix) => new Map((await list(prefix)).map((stored) => [stored.uri, stored])),
    // Lists are in URI order, and a URI comes before longer ones with the same prefix. The resource is therefore
    // first, or missing.
    find: async (uri) => (await list(uri, 1)).find((stored) => stored.uri === uri),
    get: (uri) => api.response("GET /tenants/{id}/resources/content", { params, query: { uri } }),
    put: async (uri, { mimeType, tags, ...details }, body, condition) => {
      const query = { uri, ...details, tag: [...tags] };
      // With the length known, the server can reject a body that is too large before it is sent.
      const headers = { ...condition, "content-type": mimeType, "content-length": String(body.size) };
      const args = { params, query, headers, content: contentOf(body) };
      const response = await api.response("PUT /tenants/{id}/resources/content", args);
      await response.body?.cancel();
    },
    remove: async (uri, headers) => {
      await api.remove("DELETE /tenants/{id}/resources/content", { params, query: { uri }, headers });
    },
  };
}

/** A body that Node's `fetch` opens anew for each attempt. */
function contentOf(body: UploadBody): NonNullable<RequestInit["body"]> {
  if (body.size === 0) return "";
  return { [Symbol.asyncIterator]: () => body.open()[Symbol.asyncIterator]() } as unknown as ReadableStream;
}

export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function bodyOfFile(file: string, size: number, onBytes: (count: number) => void): Omit<UploadBody, "mimeType"> {
  let sentBytes = 0;
  return {
    size,
    async *open() {
      // Subtract the progress of a failed attempt.
      onBytes(-sentBytes);
      sentBytes = 0;
      for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
        sentBytes += chunk.byteLength;
        onBytes(chunk.byteLength);
        yield chunk;
      }
    },
  };
}

/**
 * Whether the stored metadata is the same. Tags have no order. The server sets `binary` and `lastModified` if
 * omitted.
 */
export function hasSameFields(stored: ResourceInfo, fields: ResourceFields): boolean {
  const { binary = stored.binary, lastModified = stored.lastModified } = fields;
  if (binary !== stored.binary || lastModified !== stored.lastModified) return false;
  return JSON.stringify(comparable(stored)) === JSON.stringify(comparable(fields));
}

function comparable({ name, title, description, mimeType, audience, priority, tags }: ResourceFields): unknown[] {
  return [name, title, description, mimeType, audience?.toSorted(), priority, tags.toSorted()];
}

/** The metadata to keep when the body is replaced: everything but the time, which belongs to the body. */
export function fieldsOf({
  name,
  title,
  description,
  mimeType,
  audience,
  priority,
  tags,
}: ResourceInfo): ResourceFields {
  return {
    name,
    mimeType,
    tags,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(audience !== undefined && { audience }),
    ...(priority !== undefined && { priority }),
  };
}
