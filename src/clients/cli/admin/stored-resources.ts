// Owns a tenant's resources as the admin API shows them, and bodies on both sides: what is stored, its hash, a file's
// hash.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { ResourceAbout, Infer } from "../../../admin/contract.ts";
import { collectPages, type AdminApi, type Body } from "./admin-client.ts";

export type Stored = Infer<typeof ResourceAbout>;

/** What is said about a resource beside its body. */
export type Fields = Pick<Stored, "name" | "mimeType" | "tags"> &
  Partial<Pick<Stored, "title" | "description" | "audience" | "priority" | "binary" | "lastModified">>;

export interface StoredResources {
  all(prefix: string): Promise<Map<string, Stored>>;
  find(uri: string): Promise<Stored | undefined>;
  get(uri: string): Promise<Response>;
  put(uri: string, fields: Fields, body: Body, condition: Readonly<Record<string, string>>): Promise<void>;
  remove(uri: string, condition: Readonly<Record<string, string>>): Promise<void>;
}

export function storedResources(api: AdminApi, tenant: string): StoredResources {
  const params = { id: tenant };
  const list = (prefix: string, limit?: number) =>
    collectPages(api.pages("GET /tenants/{id}/resources", { params, query: prefix === "" ? {} : { prefix } }, limit));
  return {
    all: async (prefix) => new Map((await list(prefix)).map((stored) => [stored.uri, stored])),
    // Lists are in order of URIs, and a URI comes before longer ones that begin with it: it is the first, or missing.
    find: async (uri) => (await list(uri, 1)).find((stored) => stored.uri === uri),
    get: (uri) => api.response("GET /tenants/{id}/resources/content", { params, query: { uri } }),
    put: async (uri, { mimeType, tags, ...about }, body, condition) => {
      const query = { uri, ...about, tag: [...tags] };
      // With its length the server can refuse a body that is too large before it is sent.
      const headers = { ...condition, "content-type": mimeType, "content-length": String(body.size) };
      const asked = { params, query, headers, content: contentOf(body) };
      const response = await api.response("PUT /tenants/{id}/resources/content", asked);
      await response.body?.cancel();
    },
    remove: async (uri, headers) => {
      await api.remove("DELETE /tenants/{id}/resources/content", { params, query: { uri }, headers });
    },
  };
}

/** What `fetch` of Node reads anew for each attempt. */
function contentOf(body: Body): NonNullable<RequestInit["body"]> {
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

export function bodyOfFile(file: string, size: number, onBytes: (count: number) => void): Omit<Body, "mimeType"> {
  let sent = 0;
  return {
    size,
    async *open() {
      // The progress of an attempt that failed is taken back.
      onBytes(-sent);
      sent = 0;
      for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
        sent += chunk.byteLength;
        onBytes(chunk.byteLength);
        yield chunk;
      }
    },
  };
}

/** Whether what is stored says the same. Tags have no order. The server chooses a kind or time that is left out. */
export function sameFields(stored: Stored, wanted: Fields): boolean {
  const { binary = stored.binary, lastModified = stored.lastModified } = wanted;
  if (binary !== stored.binary || lastModified !== stored.lastModified) return false;
  return JSON.stringify(comparable(stored)) === JSON.stringify(comparable(wanted));
}

function comparable({ name, title, description, mimeType, audience, priority, tags }: Fields): unknown[] {
  return [name, title, description, mimeType, audience?.toSorted(), priority, tags.toSorted()];
}

/** What can be said again of the same resource with another body: all but the time, which belongs to the body. */
export function fieldsOf({ name, title, description, mimeType, audience, priority, tags }: Stored): Fields {
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
