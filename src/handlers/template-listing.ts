// Lists a template's resources with its author's function, one page at a time, within a time limit. Entries that a
// client could not read, or that do not match the template, are dropped and reported to the operator.

import type { RequestScope } from "./request-scope.ts";
import { eventOf } from "./error-outcome.ts";
import { runNonInteractive } from "./run-completer.ts";
import type { Context } from "./context.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import type { ResourceDefinition } from "../protocol/definition.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { omitUndefined } from "../protocol/members.ts";
import type { ResourceLister, PageRequest, ResourcePage } from "../protocol/source.ts";
import { parseUri } from "../protocol/uri.ts";
import type { UriTemplate } from "../protocol/uri-template.ts";
import { checkDefinition } from "./check-definition.ts";

/** A resource in a template's list. Its URI must match the template. */
export interface ListedResource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** Bytes. */
  readonly size?: number;
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
  readonly meta?: JsonObject;
}

export interface ListedPage {
  readonly resources: readonly ListedResource[];
  /** Cursor of the next page; absent on the last page. */
  readonly nextCursor?: string;
}

/**
 * Returns one page of resources. `cursor` is the `nextCursor` of the previous page, absent for the first. You may
 * return more than `limit` resources: the rest is listed on the next page, for which this function gets the same cursor
 * again.
 */
export type TemplateLister<Env = Cloudflare.Env, Settings = Tenantry.Settings> = (
  page: { readonly cursor?: string; readonly limit: number },
  ctx: Context<Env, Settings>,
) => ListedPage | Promise<ListedPage>;

const TIMEOUT_MS = 5000;
const MAX_CURSOR_CHARACTERS = 4096;

export function createTemplateListing(
  uriTemplate: string,
  template: UriTemplate,
  list: TemplateLister<never, never>,
): ResourceLister<RequestScope> {
  const what = `template "${uriTemplate}": list`;
  return {
    list: async (pageRequest, request, requestScope) => {
      const position = parsePosition(pageRequest);
      const page = await callLister(list, { what, position, limit: pageRequest.limit, request, requestScope });
      const items = page.resources.slice(position.skip, position.skip + pageRequest.limit).flatMap((one) => {
        try {
          return [toResourceDefinition(what, template, one)];
        } catch (error) {
          requestScope.hooks.onError?.(error, eventOf({ name: uriTemplate, call: request, requestScope }));
          return [];
        }
      });
      return omitUndefined({ items, next: nextCursorOf(page, position, pageRequest.limit) });
    },
  };
}

/** Start of a page: this many resources into the author's page at this cursor. */
interface PagePosition {
  readonly cursor?: string | undefined;
  readonly skip: number;
}

function parsePosition({ cursor }: PageRequest): PagePosition {
  return cursor === undefined ? { skip: 0 } : (JSON.parse(cursor) as PagePosition);
}

interface ListContext {
  readonly what: string;
  readonly position: PagePosition;
  readonly limit: number;
  readonly request: McpRequest;
  readonly requestScope: RequestScope;
}

/** Throws the error of the author's function, and an error if the function takes too long or returns no page. */
async function callLister(
  list: TemplateLister<never, never>,
  { what, position, limit, request, requestScope }: ListContext,
): Promise<ListedPage> {
  const { cursor } = position;
  const run = await runNonInteractive((ctx) => list(omitUndefined({ cursor, limit }), ctx as never), {
    name: what,
    timeoutMs: TIMEOUT_MS,
    call: request,
    requestScope,
  });
  if (run.kind === "threw") throw run.error;
  if (run.kind !== "returned") throw new Error(`${what}: no page within ${TIMEOUT_MS} ms`);
  const { resources, nextCursor } = run.value as Partial<ListedPage>;
  if (!Array.isArray(resources)) throw new TypeError(`${what}: must return { resources: [...] }`);
  if (nextCursor !== undefined && !(nextCursor !== cursor && nextCursor.length <= MAX_CURSOR_CHARACTERS)) {
    throw new TypeError(
      `${what}: nextCursor must differ from the last cursor and have at most ${MAX_CURSOR_CHARACTERS} characters`,
    );
  }
  return run.value;
}

function nextCursorOf(
  { resources, nextCursor }: ListedPage,
  { cursor, skip }: PagePosition,
  limit: number,
): ResourcePage["next"] {
  const next: PagePosition = { cursor, skip: skip + limit };
  if (next.skip < resources.length) return JSON.stringify(next);
  return nextCursor === undefined ? undefined : JSON.stringify({ cursor: nextCursor, skip: 0 });
}

function toResourceDefinition(what: string, template: UriTemplate, listed: ListedResource): ResourceDefinition {
  const { uri: uriText, name, title, description, mimeType, size, annotations, icons, meta } = listed;
  checkDefinition(`${what}: "${uriText}"`, listed, ["name"]);
  const parsed = parseUri(uriText);
  if ("broken" in parsed || !template.match(parsed.uri)) {
    throw new TypeError(`${what}: "${uriText}" does not match the template`);
  }
  const { uri } = parsed;
  return {
    uri,
    wire: omitUndefined({ uri, name, title, description, mimeType, size, annotations, icons, _meta: meta }),
  };
}
