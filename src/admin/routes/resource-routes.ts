// Routes for a tenant's resources. Conditional headers keep two editors from overwriting each other.

import { etagOf, bodyKey, type ResourceRow } from "../../resources/resource-row.ts";
import {
  MAX_RESOURCE_BYTES,
  createResourceStore,
  digestOf,
  storageFullText,
} from "../../resources/tenant-resource-store.ts";
import { storeBody, type StoreResult } from "../../resources/bodies.ts";
import type { Limits } from "../../tenants/document/tenant-document.ts";
import { parseUri } from "../../protocol/uri.ts";
import type { ResourceShape, Infer } from "../contract.ts";
import { preconditionFailed, ifAbsentOf, ifMatchOf, matchesIfNoneMatch, quoteEtag } from "../etag.ts";
import { paginateRows, parsePosition } from "../page.ts";
import { invalidFields, notFound, ProblemError } from "../problem.ts";
import { defineRoutes, type AdminEnv, type RouteResponse, type AdminContext } from "../route.ts";
import { effectiveLimitsOf } from "../services/limit-rules.ts";
import { requireTenant, requireTenantRecord, type TenantHandle } from "../services/tenant-handle.ts";
import { isBinary, mediaTypeOf, readUpload } from "../upload.ts";
import type { PutQuery } from "../endpoints/resource-endpoints.ts";
import { RESOURCE_ENDPOINTS } from "../endpoints/resource-endpoints.ts";

/** The URI in normal form. Validation has rejected invalid URIs before. */
function normalizeUri(text: string): string {
  const parsed = parseUri(text);
  return "uri" in parsed ? parsed.uri : text;
}

/** The part of a text that is indexed for search, in bytes. */
const SEARCHED_BYTES = 1024 * 1024;

export const resourceRoutes = defineRoutes(RESOURCE_ENDPOINTS, {
  "GET /tenants/{id}/resources": async (context) => {
    const { content } = await requireTenant(context, context.params.id);
    const { limit, prefix = "" } = context.query;
    const after = parsePosition("resources", context.query) ?? null;
    const rows = await content.list({ prefix, tag: null, after, limit: limit + 1 });
    const { items, ...more } = paginateRows("resources", rows, limit, ({ uri }) => uri);
    return { body: { items: items.map(toResourceShape), ...more } };
  },
  "GET /tenants/{id}/resources/content": async (context) => {
    const handle = await requireTenant(context, context.params.id);
    const uri = normalizeUri(context.query.uri);
    const row = await handle.content.get(uri);
    if (!row) throw notFound(`resource ${uri}`);
    if (matchesIfNoneMatch(context.request, etagOf(row)))
      return { status: 304, headers: { etag: quoteEtag(etagOf(row)) } };
    return new Response(await readBodyOf(context.env, handle, row), { headers: headersOf(row) });
  },
  "PUT /tenants/{id}/resources/content": async (context) =>
    putResource(context, await requireTenant(context, context.params.id), context.query),
  "DELETE /tenants/{id}/resources/content": async (context) => {
    const { content } = await requireTenant(context, context.params.id);
    const uri = normalizeUri(context.query.uri);
    const result = await content.removeAs(uri, { actor: context.caller.name, ifMatch: ifMatchOf(context.request) });
    if (result.state === "conflict") throw preconditionFailed(result.etag);
    if (result.state === "absent") throw notFound(`resource ${uri}`);
    return {};
  },
});

export function toResourceShape(row: ResourceRow): Infer<typeof ResourceShape> {
  const { uri, name, title, description, mimeType, binary, size, hash, lastModified, audience, priority, tags } = row;
  return {
    uri,
    name,
    ...(title === null ? {} : { title }),
    ...(description === null ? {} : { description }),
    mimeType,
    binary,
    size,
    sha256: hash,
    etag: quoteEtag(etagOf(row)),
    lastModified,
    ...(audience === null ? {} : { audience: [...audience] as ("user" | "assistant")[] }),
    ...(priority === null ? {} : { priority }),
    tags: [...tags],
  };
}

/** A stored body must not act as a page of this origin. */
function headersOf(row: ResourceRow): Record<string, string> {
  return {
    etag: quoteEtag(etagOf(row)),
    "content-type": row.mimeType,
    "content-length": String(row.size),
    "last-modified": new Date(row.lastModified).toUTCString(),
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "content-disposition": "attachment",
  };
}

async function readBodyOf(
  { BODIES }: AdminEnv,
  { storageKey, content }: TenantHandle,
  row: ResourceRow,
): Promise<BodyInit> {
  const stream = await BODIES.get(bodyKey(storageKey, row.hash), "stream").catch(() => null);
  if (stream) return stream;
  // KV may not show a new body here yet, or be unavailable. The store knows where else to look.
  const found = await createResourceStore({ storageKey, content, bodies: BODIES }).read(row.uri);
  if (!found) throw notFound(`resource ${row.uri}`);
  return found.text ?? found.blob;
}

async function putResource(
  context: AdminContext,
  handle: TenantHandle,
  query: Infer<typeof PutQuery>,
): Promise<RouteResponse> {
  const { request, env } = context;
  const [ifMatch, ifAbsent, mimeType] = [ifMatchOf(request), ifAbsentOf(request), mediaTypeOf(request)];
  const limits = effectiveLimitsOf(context, handle, await requireTenantRecord(handle));
  const uri = normalizeUri(query.uri);
  // Check the condition before reading the body.
  if (ifMatch !== null || ifAbsent) await checkPreconditions(handle, uri, { ifMatch, ifAbsent });
  const upload = await readUpload(request, Math.min(MAX_RESOURCE_BYTES, limits.resourceBytes));
  try {
    const { bytes } = upload;
    const binary = isBinary(mimeType, bytes, query.binary);
    const row = { ...rowFieldsOf(query), mimeType, binary, size: bytes.byteLength, hash: await digestOf(bytes) };
    const searchText = binary ? "" : new TextDecoder().decode(bytes.subarray(0, SEARCHED_BYTES));
    const edit = { actor: context.caller.name, ifMatch, ifAbsent };
    const maxima = { maxResources: limits.resources, maxBytes: limits.storedBytes };
    const location = { storageKey: handle.storageKey, content: handle.content, bodies: env.BODIES };
    return toRouteResponse(row, await storeBody(location, { row, bytes, searchText }, { edit, ...maxima }), limits);
  } finally {
    upload.release();
  }
}

async function checkPreconditions(
  { content }: TenantHandle,
  uri: string,
  { ifMatch, ifAbsent }: { ifMatch: readonly string[] | null; ifAbsent: boolean },
): Promise<void> {
  const row = await content.get(uri);
  const current = row ? etagOf(row) : null;
  const matches = ifMatch === null || (current !== null && (ifMatch.includes("*") || ifMatch.includes(current)));
  if (!matches || (ifAbsent && row)) throw preconditionFailed(current);
}

function rowFieldsOf(query: Infer<typeof PutQuery>) {
  const { name, title, description, audience, priority, tag, lastModified } = query;
  const uri = normalizeUri(query.uri);
  return {
    uri,
    name: name ?? lastPathSegment(uri),
    title: title ?? null,
    description: description ?? null,
    audience: audience === undefined || audience.length === 0 ? null : [...new Set(audience)],
    priority: priority ?? null,
    tags: [...new Set(tag)],
    ...(lastModified === undefined ? {} : { lastModified }),
  };
}

function lastPathSegment(uri: string): string {
  const part = /[^/:?#]+(?=\/*(?:[?#].*)?$)/.exec(uri)?.[0] ?? uri;
  try {
    return decodeURIComponent(part).slice(0, 500);
  } catch {
    return part.slice(0, 500);
  }
}

type NewResourceRow = Omit<ResourceRow, "lastModified" | "revision">;

function toRouteResponse(row: NewResourceRow, result: StoreResult, limits: Limits): RouteResponse {
  switch (result.state) {
    case "stored": {
      const { lastModified, revision, created } = result;
      const stored = { ...row, lastModified, revision };
      return {
        status: created ? 201 : 200,
        body: toResourceShape(stored),
        headers: { etag: quoteEtag(etagOf(stored)) },
      };
    }
    case "same":
      return { body: toResourceShape(result.row), headers: { etag: quoteEtag(etagOf(result.row)) } };
    case "present":
      throw preconditionFailed(null);
    case "conflict":
      throw preconditionFailed(result.etag);
    case "full":
      throw new ProblemError("conflict", {
        errors: [
          {
            field: result.of === "storedBytes" ? "limits.storedBytes" : "limits.resources",
            rule: storageFullText(result, limits),
          },
        ],
      });
    default:
      throw invalidFields(["body", "could not be stored"]);
  }
}
