// Owns the routes for a tenant's resources: what there is, and bodies in and out, with conditions by which two editors
// lose nothing.

import { limitsInForce } from "../../limits/limit-table.ts";
import { etagOf, bodyKey, type ResourceRow } from "../../content/store/resource-row.ts";
import { MAX_RESOURCE_BYTES, openStore, digestOf, fullText } from "../../content/store/open-store.ts";
import { storeBody, type StoreResult } from "../../content/store/bodies.ts";
import { mergeDocuments, type Limits } from "../../tenants/document/tenant-document.ts";
import { parseUri } from "../../protocol/uri.ts";
import type { ResourceAbout, Infer } from "../contract.ts";
import { changedMeanwhile, ifAbsentOf, ifMatchOf, isKnown, quoted } from "../etag.ts";
import { pageFrom, positionOf } from "../page.ts";
import { invalidFields, notFound, ProblemError } from "../problem.ts";
import { routes, type AdminEnv, type RouteAnswer, type Desk } from "../route.ts";

import { findManaged, readRecord, type Managed } from "../apply/tenant-access.ts";
import { isBinary, mediaTypeOf, readUpload } from "../upload.ts";
import type { PutQuery } from "../endpoints/resource-endpoints.ts";
import { RESOURCE_ENDPOINTS } from "../endpoints/resource-endpoints.ts";

/** A URI in its normal form. What is none was refused before. */
function normal(text: string): string {
  const parsed = parseUri(text);
  return "uri" in parsed ? parsed.uri : text;
}

/** How much of a text is indexed for search. */
const SEARCHED_BYTES = 1024 * 1024;

export const resourceRoutes = routes(RESOURCE_ENDPOINTS, {
  "GET /tenants/{id}/resources": async (call) => {
    const { content } = await findManaged(call, call.params.id);
    const { limit, prefix = "" } = call.query;
    const after = positionOf("resources", call.query) ?? null;
    const rows = await content.list({ prefix, tag: null, after, limit: limit + 1 });
    const { items, ...more } = pageFrom("resources", rows, limit, ({ uri }) => uri);
    return { body: { items: items.map(aboutOf), ...more } };
  },
  "GET /tenants/{id}/resources/content": async (call) => {
    const managed = await findManaged(call, call.params.id);
    const uri = normal(call.query.uri);
    const row = await managed.content.get(uri);
    if (!row) throw notFound(`resource ${uri}`);
    if (isKnown(call.request, etagOf(row))) return { status: 304, headers: { etag: quoted(etagOf(row)) } };
    return new Response(await bodyOf(call.env, managed, row), { headers: headersOf(row) });
  },
  "PUT /tenants/{id}/resources/content": async (call) =>
    putResource(call, await findManaged(call, call.params.id), call.query),
  "DELETE /tenants/{id}/resources/content": async (call) => {
    const { content } = await findManaged(call, call.params.id);
    const uri = normal(call.query.uri);
    const done = await content.removeAs(uri, { actor: call.caller.name, ifMatch: ifMatchOf(call.request) });
    if (done.state === "conflict") throw changedMeanwhile(done.etag);
    if (done.state === "absent") throw notFound(`resource ${uri}`);
    return {};
  },
});

export function aboutOf(row: ResourceRow): Infer<typeof ResourceAbout> {
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
    etag: quoted(etagOf(row)),
    lastModified,
    ...(audience === null ? {} : { audience: [...audience] as ("user" | "assistant")[] }),
    ...(priority === null ? {} : { priority }),
    tags: [...tags],
  };
}

/** What somebody stored must not act as a page of this origin. */
function headersOf(row: ResourceRow): Record<string, string> {
  return {
    etag: quoted(etagOf(row)),
    "content-type": row.mimeType,
    "content-length": String(row.size),
    "last-modified": new Date(row.lastModified).toUTCString(),
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "content-disposition": "attachment",
  };
}

async function bodyOf({ BODIES }: AdminEnv, { kept, content }: Managed, row: ResourceRow): Promise<BodyInit> {
  const stream = await BODIES.get(bodyKey(kept, row.hash), "stream").catch(() => null);
  if (stream) return stream;
  // KV may not show a new body here yet, or be away. The store knows where else to look.
  const found = await openStore({ kept, content, bodies: BODIES }).read(row.uri);
  if (!found) throw notFound(`resource ${row.uri}`);
  return found.text ?? found.blob;
}

async function putResource(desk: Desk, managed: Managed, query: Infer<typeof PutQuery>): Promise<RouteAnswer> {
  const { request, env } = desk;
  const [ifMatch, ifAbsent, mimeType] = [ifMatchOf(request), ifAbsentOf(request), mediaTypeOf(request)];
  const { effective } = await readRecord(managed);
  const limits = limitsInForce(desk.options.catalog.limits, mergeDocuments([managed.tenant.base, effective]).limits);
  const uri = normal(query.uri);
  // A condition that does not hold is refused before the body is read.
  if (ifMatch !== null || ifAbsent) await checkEarly(managed, uri, { ifMatch, ifAbsent });
  const upload = await readUpload(request, Math.min(MAX_RESOURCE_BYTES, limits.resourceBytes));
  try {
    const { bytes } = upload;
    const binary = isBinary(mimeType, bytes, query.binary);
    const row = { ...fieldsOf(query), mimeType, binary, size: bytes.byteLength, hash: await digestOf(bytes) };
    const searchText = binary ? "" : new TextDecoder().decode(bytes.subarray(0, SEARCHED_BYTES));
    const edit = { actor: desk.caller.name, ifMatch, ifAbsent };
    const most = { maxResources: limits.resources, maxBytes: limits.storedBytes };
    const to = { kept: managed.kept, content: managed.content, bodies: env.BODIES };
    return answerOf(row, await storeBody(to, { row, bytes, searchText }, { edit, ...most }), limits);
  } finally {
    upload.release();
  }
}

async function checkEarly(
  { content }: Managed,
  uri: string,
  { ifMatch, ifAbsent }: { ifMatch: readonly string[] | null; ifAbsent: boolean },
): Promise<void> {
  const row = await content.get(uri);
  const current = row ? etagOf(row) : null;
  const matches = ifMatch === null || (current !== null && (ifMatch.includes("*") || ifMatch.includes(current)));
  if (!matches || (ifAbsent && row)) throw changedMeanwhile(current);
}

function fieldsOf(query: Infer<typeof PutQuery>) {
  const { name, title, description, audience, priority, tag, lastModified } = query;
  const uri = normal(query.uri);
  return {
    uri,
    name: name ?? lastPartOf(uri),
    title: title ?? null,
    description: description ?? null,
    audience: audience === undefined || audience.length === 0 ? null : [...new Set(audience)],
    priority: priority ?? null,
    tags: [...new Set(tag)],
    ...(lastModified === undefined ? {} : { lastModified }),
  };
}

function lastPartOf(uri: string): string {
  const part = /[^/:?#]+(?=\/*(?:[?#].*)?$)/.exec(uri)?.[0] ?? uri;
  try {
    return decodeURIComponent(part).slice(0, 500);
  } catch {
    return part.slice(0, 500);
  }
}

type Written = Omit<ResourceRow, "lastModified" | "revision">;

function answerOf(row: Written, done: StoreResult, limits: Limits): RouteAnswer {
  switch (done.state) {
    case "stored": {
      const { lastModified, revision, created } = done;
      const stored = { ...row, lastModified, revision };
      return { status: created ? 201 : 200, body: aboutOf(stored), headers: { etag: quoted(etagOf(stored)) } };
    }
    case "same":
      return { body: aboutOf(done.row), headers: { etag: quoted(etagOf(done.row)) } };
    case "present":
      throw changedMeanwhile(null);
    case "conflict":
      throw changedMeanwhile(done.etag);
    case "full":
      throw new ProblemError("conflict", {
        errors: [
          {
            field: done.of === "storedBytes" ? "limits.storedBytes" : "limits.resources",
            rule: fullText(done, limits),
          },
        ],
      });
    default:
      throw invalidFields(["body", "could not be stored"]);
  }
}
