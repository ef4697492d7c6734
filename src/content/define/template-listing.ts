// Owns what a template lists: its author's function, asked for a page at a time, for a bounded time. What it gives that no
// client could read, or the template would not, is left out and told to the operator. Refuses it questions.

import type { CallHost } from "../../calls/call-host.ts";
import { eventOf } from "../../calls/fault.ts";
import { runAside } from "../../calls/run-completer.ts";
import type { Context } from "../../calls/typed-context.ts";
import type { Call } from "../../protocol/call.ts";
import type { ResourceDefinition } from "../../protocol/definition.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { given } from "../../protocol/members.ts";
import type { Listing, ShelfAsk, ShelfPage } from "../../protocol/source.ts";
import { parseUri } from "../../protocol/uri.ts";
import type { UriTemplate } from "../../protocol/uri-template.ts";
import { checkListed } from "./check-listed.ts";

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
  /** Leads to the next page; absent on the last. */
  readonly nextCursor?: string;
}

/**
 * `cursor` is the `nextCursor` of the page before, absent for the first. More than `limit` may be given: what is over is
 * listed on the next page, for which the same page is asked again.
 */
export type TemplateLister<Env = Cloudflare.Env, Settings = Tenantry.Settings> = (
  page: { readonly cursor?: string; readonly limit: number },
  ctx: Context<Env, Settings>,
) => ListedPage | Promise<ListedPage>;

const TIMEOUT_MS = 5000;
const MAX_CURSOR_CHARACTERS = 4096;

export function listingOf(
  uriTemplate: string,
  template: UriTemplate,
  list: TemplateLister<never, never>,
): Listing<CallHost> {
  const what = `template "${uriTemplate}": list`;
  return {
    list: async (ask, call, host) => {
      const place = placeOf(ask);
      const page = await pageOf(list, { what, place, limit: ask.limit, call, host });
      const items = page.resources.slice(place.skip, place.skip + ask.limit).flatMap((one) => {
        try {
          return [listedOf(what, template, one)];
        } catch (error) {
          host.hooks.onError?.(error, eventOf({ name: uriTemplate, call, host }));
          return [];
        }
      });
      return given({ items, next: nextOf(page, place, ask.limit) });
    },
  };
}

/** Where a page begins: after so many resources of the author's page after this cursor. */
interface Place {
  readonly cursor?: string | undefined;
  readonly skip: number;
}

function placeOf({ cursor }: ShelfAsk): Place {
  return cursor === undefined ? { skip: 0 } : (JSON.parse(cursor) as Place);
}

interface Asking {
  readonly what: string;
  readonly place: Place;
  readonly limit: number;
  readonly call: Call;
  readonly host: CallHost;
}

/** Throws what the author's function threw, and where it took too long or gave no page. */
async function pageOf(
  list: TemplateLister<never, never>,
  { what, place, limit, call, host }: Asking,
): Promise<ListedPage> {
  const { cursor } = place;
  const ended = await runAside((ctx) => list(given({ cursor, limit }), ctx as never), {
    name: what,
    timeoutMs: TIMEOUT_MS,
    call,
    host,
  });
  if (ended.kind === "threw") throw ended.error;
  if (ended.kind !== "returned") throw new Error(`${what}: no page within ${TIMEOUT_MS} ms`);
  const { resources, nextCursor } = ended.value as Partial<ListedPage>;
  if (!Array.isArray(resources)) throw new TypeError(`${what}: it returned no { resources: [...] }`);
  if (nextCursor !== undefined && !(nextCursor !== cursor && nextCursor.length <= MAX_CURSOR_CHARACTERS)) {
    throw new TypeError(
      `${what}: nextCursor is another text than before, of at most ${MAX_CURSOR_CHARACTERS} characters`,
    );
  }
  return ended.value;
}

function nextOf({ resources, nextCursor }: ListedPage, { cursor, skip }: Place, limit: number): ShelfPage["next"] {
  const next: Place = { cursor, skip: skip + limit };
  if (next.skip < resources.length) return JSON.stringify(next);
  return nextCursor === undefined ? undefined : JSON.stringify({ cursor: nextCursor, skip: 0 });
}

function listedOf(what: string, template: UriTemplate, listed: ListedResource): ResourceDefinition {
  const { uri: written, name, title, description, mimeType, size, annotations, icons, meta } = listed;
  checkListed(`${what}: "${written}"`, listed, ["name"]);
  const parsed = parseUri(written);
  if ("broken" in parsed || !template.match(parsed.uri)) {
    throw new TypeError(`${what}: "${written}" is no URI of the template`);
  }
  const { uri } = parsed;
  return { uri, wire: given({ uri, name, title, description, mimeType, size, annotations, icons, _meta: meta }) };
}
