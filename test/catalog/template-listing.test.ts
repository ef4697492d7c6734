import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  defineResource,
  defineTemplate,
  type ResourceTemplate,
  type TemplateOptions,
} from "../../src/handlers/resource.ts";
import type { ListedPage, TemplateLister } from "../../src/handlers/template-listing.ts";
import { ViewRequestHandlers } from "../../src/catalog/view-request-handlers.ts";
import { MISSING_KEY } from "../../src/catalog/unavailable-sources.ts";
import { createTenantCatalog } from "../../src/catalog/tenant-catalog.ts";
import { createView } from "../../src/catalog/view.ts";
import { isFailure } from "../../src/protocol/methods/params.ts";
import { createManagedTenant } from "../../src/tenants/document/tenant-definition.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { ANONYMOUS, workerPrincipal } from "../../src/auth/principal.ts";
import type { RequestScope } from "../../src/handlers/request-scope.ts";
import { callOf, requestScopeOf } from "../support/workerd/calls.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

const ticket = (id: number) => ({ uri: `ticket:${String(id).padStart(3, "0")}`, name: `Ticket ${id}` });
const tickets = (count: number) => Array.from({ length: count }, (_none, at) => ticket(at));

const template = (list: TemplateLister, more: Partial<TemplateOptions> = {}) =>
  defineTemplate({ uriTemplate: "ticket:{id}", name: "tickets", read: ({ id }) => `ticket ${id}`, list, ...more });

interface Served {
  readonly as?: Partial<Pick<RequestScope, "principal" | "profile" | "ring">>;
  readonly listed: readonly ResourceTemplate[];
  readonly document?: TenantDocument;
  readonly stored?: readonly string[];
  readonly held?: readonly string[];
}

async function serve({ as, listed, document = {}, stored = [], held = [] }: Served) {
  const tenant = freshTenant();
  const resources = [...held.map((uri) => defineResource({ uri, name: uri, text: "held" })), ...listed];
  const catalog = { server: { name: "t", version: "1" }, instructions: undefined, tools: [], prompts: [], resources };
  const policy = { document, suspensions: [], deprecatedNames: [] };
  const profile = document.profiles ? "narrow" : null;
  const view = createView(createTenantCatalog(catalog, createManagedTenant(tenant.id), { policy, version: 1 }), {
    profile,
    scopes: undefined,
  });
  const errors: string[] = [];
  const requestScope = requestScopeOf(tenant, {
    ...as,
    access: view,
    hooks: { onError: (error) => errors.push(String(error)) },
  });
  for (const uri of stored) await requestScope.resources().write({ uri, name: uri, text: "stored" });
  const handlers = new ViewRequestHandlers(view, requestScope);
  const page = async (cursor?: string) => {
    const found = await handlers.listResources(cursor, callOf({ method: "resources/list" }));
    if (isFailure(found)) throw new Error(found.message);
    return found;
  };
  const all = async () => {
    const uris: unknown[] = [];
    const sizes: number[] = [];
    let missing: unknown;
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const found = await page(cursor);
      uris.push(...found.items.map(({ uri }) => uri));
      sizes.push(found.items.length);
      missing ??= found.meta?.[MISSING_KEY];
      cursor = found.nextCursor;
    }
    return { uris, sizes, missing };
  };
  const read = (uri: string) => handlers.readResource({ uri, asked: uri }, callOf({ method: "resources/read" }));
  return { page, all, read, errors };
}

const uris = (count: number) => tickets(count).map(({ uri }) => uri);

describe("a template that lists", () => {
  it.each([0, 1, 99, 100, 101, 250])(
    "is listed once each between code and storage: %i that come all at once",
    async (n) => {
      const { all } = await serve({
        listed: [template(() => ({ resources: tickets(n) }))],
        held: ["note:held"],
        stored: ["note:stored"],
      });
      const found = await all();
      expect(found.uris).toEqual(["note:held", ...uris(n), "note:stored"]);
      expect(found.sizes.slice(0, -1).every((size) => size === 100)).toBe(true);
      expect((await all()).uris).toEqual(found.uris);
    },
  );

  it("never gets a cursor that it made for another caller or in another profile", async () => {
    const requests: unknown[] = [];
    const listed = template(({ cursor }, { principal }) => {
      requests.push([cursor, principal.id]);
      return { resources: [ticket(1)], nextCursor: `tickets of ${principal.id} ${String(cursor?.length)}` };
    });
    const [ann, bob] = [workerPrincipal("ann"), workerPrincipal("bob")];
    const hers = await serve({ as: { principal: ann }, listed: [listed] });
    const { nextCursor } = await hers.page();
    const others = [{ principal: bob }, { principal: ANONYMOUS }, { principal: ann, profile: "narrow" }];
    requests.length = 0;
    for (const as of others)
      await expect((await serve({ as, listed: [listed] })).page(nextCursor)).rejects.toThrow("cursor");
    expect(requests).toEqual([]);
    expect((await hers.page(nextCursor)).items.length).toBeGreaterThan(0);
  });

  it("is asked with its own cursor, page by page", async () => {
    const requests: unknown[] = [];
    const list: TemplateLister = (page) => {
      requests.push(page);
      const from = Number(page.cursor ?? 0);
      const resources = tickets(25).slice(from, from + 10);
      return from + 10 < 25 ? { resources, nextCursor: String(from + 10) } : { resources };
    };
    const { all } = await serve({ listed: [template(list)], stored: ["note:stored"] });
    expect((await all()).uris).toEqual([...uris(25), "note:stored"]);
    expect(requests).toEqual([{ limit: 100 }, { limit: 100, cursor: "10" }, { limit: 100, cursor: "20" }]);
  });

  it("describes what it lists, and says nothing else that an author may have there", async () => {
    const described = { ...ticket(1), title: "One", mimeType: "text/plain", size: 3, meta: { a: 1 }, password: "x" };
    const { page } = await serve({ listed: [template(() => ({ resources: [described] }))] });
    expect((await page()).items).toEqual([
      { ...ticket(1), title: "One", mimeType: "text/plain", size: 3, _meta: { a: 1 } },
    ]);
  });

  it("alone says what there is under its URIs, in lists and in reads", async () => {
    const only = template(() => ({ resources: [ticket(1)] }), {
      read: ({ id }) => (id === "001" ? "from the template" : undefined),
    });
    const { all, read } = await serve({ listed: [only], stored: [ticket(1).uri, ticket(2).uri, "note:stored"] });
    expect((await all()).uris).toEqual([ticket(1).uri, "note:stored"]);
    expect(JSON.stringify(await read(ticket(1).uri))).toContain("from the template");
    expect(await read(ticket(2).uri)).toMatchObject({ error: "resourceNotFound" });
  });

  it("shows nothing that the view hides, and hides nothing where it is hidden itself", async () => {
    const list = vi.fn(() => ({ resources: tickets(3) }));
    const narrow = (resources: { allow?: string[]; deny?: string[] }) => ({ profiles: { narrow: { resources } } });
    const one = await serve({ listed: [template(list)], document: narrow({ deny: [ticket(1).uri] }) });
    expect((await one.all()).uris).toEqual([ticket(0).uri, ticket(2).uri]);
    expect(await one.read(ticket(1).uri)).toMatchObject({ error: "resourceNotFound" });
    list.mockClear();
    const document = narrow({ deny: ["ticket:{id}"] });
    const none = await serve({ listed: [template(list)], document, stored: [ticket(7).uri] });
    expect((await none.all()).uris).toEqual([ticket(7).uri]);
    expect(JSON.stringify(await none.read(ticket(7).uri))).toContain("stored");
    expect(list).not.toHaveBeenCalled();
  });

  const faults: [string, TemplateLister, string][] = [
    ["throws", () => Promise.reject(new Error("D1 is away")), "D1 is away"],
    [
      "throws at once",
      () => {
        throw new Error("D1 is away");
      },
      "D1 is away",
    ],
    ["gives no resources", () => ({}) as ListedPage, "must return { resources: [...] }"],
    ["gives nothing", () => undefined as never, "undefined"],
    ["leads to the same page", () => ({ resources: [], nextCursor: "x" }), "nextCursor must differ"],
    ["gives a cursor that is too long", () => ({ resources: [], nextCursor: "x".repeat(4097) }), "4096 characters"],
    ["gives a cursor that is no text", () => ({ resources: [], nextCursor: 7 as never }), "nextCursor"],
  ];
  it.each(faults)("where one %s the others are listed whole, and the list says so", async (_what, list, why) => {
    const other = template(() => ({ resources: [{ uri: "other:a", name: "a" }] }), { uriTemplate: "other:{id}" });
    const { all, errors } = await serve({
      listed: [template(list), other],
      held: ["note:held"],
      stored: ["note:stored"],
    });
    const found = await all();
    expect(found.uris).toEqual(["note:held", "other:a", "note:stored"]);
    expect(found.missing).toEqual([{ source: "ticket:{id}", why: "its resources could not be listed" }]);
    expect(errors.join()).toContain(why);
  });

  it("leaves out what no client could read, and what it would not read itself", async () => {
    const bad = [
      { uri: "ticket:no name" },
      { uri: 7, name: "n" },
      { uri: "note:other", name: "n" },
      null,
      { name: "n" },
    ];
    const wrong = { ...ticket(5), description: 5 };
    const { all, errors } = await serve({
      listed: [template(() => ({ resources: [...bad, wrong, ticket(1)] }) as unknown as ListedPage)],
    });
    expect((await all()).uris).toEqual([ticket(1).uri]);
    expect(errors).toHaveLength(6);
  });

  it("refuses a list without read, and one that is no function, at its definition", () => {
    const list = () => ({ resources: [] });
    expect(() => defineTemplate({ uriTemplate: "a:{b}", name: "n", list })).toThrow("list needs read");
    expect(() => template("x" as never)).toThrow('template "ticket:{id}": list must be a function');
  });
});

describe("a template that lists slowly", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  it("is left out after five seconds, and its signal ends", async () => {
    let signal: AbortSignal | undefined;
    const slow: TemplateLister = (_page, ctx) => {
      ({ signal } = ctx);
      return new Promise(() => {});
    };
    const { page } = await serve({ listed: [template(slow)], held: ["note:held"] });
    const paging = page();
    await vi.waitFor(() => expect(signal).toBeDefined());
    await vi.advanceTimersByTimeAsync(5000);
    const found = await paging;
    expect(found.items.map(({ uri }) => uri)).toEqual(["note:held"]);
    expect(found.meta).toMatchObject({ [MISSING_KEY]: [{ source: "ticket:{id}" }] });
    expect(signal?.aborted).toBe(true);
  });

  it("keeps a page no longer than fifteen seconds, however many there are", async () => {
    let requestCount = 0;
    const slow: TemplateLister = () => {
      requestCount += 1;
      return new Promise(() => {});
    };
    const many = ["a", "b", "c", "d", "e", "f"].map((scheme) => template(slow, { uriTemplate: `${scheme}:{id}` }));
    const { page } = await serve({ listed: many, held: ["note:held"] });
    const paging = page();
    for (let turn = 1; turn <= 3; turn += 1) {
      await vi.waitFor(() => expect(requestCount).toBeGreaterThanOrEqual(Math.min(turn, 2)));
      await vi.advanceTimersByTimeAsync(5000);
    }
    const found = await paging;
    expect(requestCount).toBeLessThanOrEqual(3);
    expect(found.items.map(({ uri }) => uri)).toEqual(["note:held"]);
    expect(found.meta?.[MISSING_KEY]).toHaveLength(6);
  });
});

it.each(['"', "\\", "\u0001", "\ud800", "é", "語"])("a cursor of 4096 times %j leads on", async (character) => {
  const cursor = character.repeat(4096);
  const requests: unknown[] = [];
  const list: TemplateLister = (page) => {
    requests.push(page.cursor);
    return page.cursor === undefined ? { resources: [ticket(1)], nextCursor: cursor } : { resources: [ticket(2)] };
  };
  const { all } = await serve({ listed: [template(list)] });
  expect((await all()).uris).toEqual(["ticket:001", "ticket:002"]);
  expect(requests).toEqual([undefined, cursor]);
});

it("resources listed for one caller, and pages with a cursor of theirs, are not cached for others", async () => {
  const { nextCursor, cacheScope } = await (await serve({ listed: [template(() => ({ resources: [] }))] })).page();
  expect([nextCursor, cacheScope]).toEqual([undefined, "private"]);
  const stored = Array.from({ length: 101 }, (_none, at) => `note:${at}`);
  const { page } = await serve({ listed: [], stored });
  const first = await page();
  expect(first.cacheScope).toBe("private");
  expect((await page(first.nextCursor)).cacheScope).toBe("private");
  expect((await (await serve({ listed: [], stored: ["note:1"] })).page()).cacheScope).toBeUndefined();
});
