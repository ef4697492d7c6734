import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ViewRequestHandlers } from "../../src/catalog/view-request-handlers.ts";
import type { Hooks } from "../../src/handlers/request-scope.ts";
import { definePrompt } from "../../src/handlers/prompt.ts";
import { defineResource, defineTemplate } from "../../src/handlers/resource.ts";
import {
  defineTenants,
  createManagedTenant,
  type TenantDefinitionOf,
} from "../../src/tenants/document/tenant-definition.ts";
import type { NewResource } from "../../src/handlers/resource-store.ts";
import { createResourceStore } from "../../src/resources/tenant-resource-store.ts";
import { contentStore } from "../../src/resources/content-store.ts";
import { defineTool } from "../../src/handlers/tool.ts";
import type { Catalog } from "../../src/handlers/catalog.ts";
import { createView } from "../../src/catalog/view.ts";
import { createTenantCatalog } from "../../src/catalog/tenant-catalog.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import type { RequestHandlers, CallablePrompt, CallableTool } from "../../src/protocol/request-handlers.ts";
import { isFailure } from "../../src/protocol/methods/params.ts";
import { requestHandlersContract } from "../contract/request-handlers-contract.ts";
import { callOf, requestScopeOf, RecordingSink } from "../support/workerd/calls.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

function serve(catalog: Partial<Catalog>, hooks: Hooks = {}) {
  const tenant = freshTenant();
  const whole: Catalog = {
    server: { name: "test", version: "1" },
    instructions: undefined,
    tools: [],
    prompts: [],
    resources: [],
    ...catalog,
  };
  const host = requestScopeOf(tenant, { hooks });
  const store = createResourceStore({
    storageKey: tenant.id,
    content: createRpcClient(tenant.content, contentStore),
    bodies: env.BODIES,
  });
  const policy = { document: {}, suspensions: [], deprecatedNames: [] };
  const view = createView(createTenantCatalog(whole, createManagedTenant(tenant.id), { policy, version: 1 }), {
    profile: null,
    scopes: undefined,
  });
  return { handlers: new ViewRequestHandlers(view, host), store };
}

/** The tool `t`. */
function toolOf(handlers: RequestHandlers): CallableTool {
  const found = handlers.tool("t");
  if (!found || isFailure(found)) throw new Error("there is no such tool");
  return found;
}

/** The prompt `p`. */
function promptOf(handlers: RequestHandlers): CallablePrompt {
  const found = handlers.prompt("p");
  if (!found || isFailure(found)) throw new Error("there is no such prompt");
  return found;
}

const people = ["Ada", "Alan", "Grace"];
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `note:${String(at).padStart(3, "0")}`);

requestHandlersContract("content", async () => {
  const tools = [
    defineTool({
      name: "echo",
      input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      handler: ({ text }) => text,
    }),
    defineTool({
      name: "broken",
      handler: () => {
        throw new Error("broken on purpose");
      },
    }),
    defineTool({ name: "endless", handler: () => new Promise<never>(() => {}) }),
  ];
  const greet = definePrompt({
    name: "greet",
    arguments: { who: { complete: (value) => people.filter((name) => name.startsWith(value)) } },
    handler: ({ who }) => `Hello ${who}`,
  });
  const uris = numbered(215);
  const texts = new Map(uris.map((uri) => [uri, `text of ${uri}`]));
  const [inCode, stored] = [uris.slice(0, 120), uris.slice(120)];
  const resources = [
    ...inCode.map((uri) => defineResource({ uri, name: uri, text: texts.get(uri) ?? "" })),
    defineTemplate({ uriTemplate: "note:{number}", name: "notes" }),
  ];
  const { handlers, store } = serve({ tools, prompts: [greet], resources });
  await Promise.all(stored.map((uri) => store.write({ uri, name: uri, text: texts.get(uri) ?? "" })));
  await store.write({ uri: "bytes:a", name: "bytes", blob: Uint8Array.of(0, 255) });
  return {
    handlers,
    call: callOf,
    sink: () => new RecordingSink(),
    tools: { echo: "echo", broken: "broken", endless: "endless" },
    prompt: "greet",
    texts,
    bytes: { uri: "bytes:a", base64: "AP8=" },
    template: { uriTemplate: "note:{number}", variable: "number", value: "200" },
  };
});

describe("resources in code and in storage", () => {
  const sizes = [0, 1, 99, 100, 101, 200, 201];
  it.each(sizes.flatMap((code) => [0, 1, 100, 101].map((stored) => [code, stored])))(
    "are listed once each: %i in code, %i stored",
    async (code, stored) => {
      const uris = numbered(code + stored);
      const { handlers, store } = serve({
        resources: uris.slice(0, code).map((uri) => defineResource({ uri, name: uri, text: "" })),
      });
      await Promise.all(uris.slice(code).map((uri) => store.write({ uri, name: uri, text: "same" })));
      const listed: unknown[] = [];
      const lengths: number[] = [];
      let cursor: string | undefined;
      do {
        const page = await handlers.listResources(cursor, callOf());
        if (!("items" in page)) throw new Error(page.message);
        listed.push(...page.items.map(({ uri }) => uri));
        lengths.push(page.items.length);
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      expect(listed).toEqual(uris);
      expect(lengths.slice(0, -1).every((length) => length === 100)).toBe(true);
      expect(lengths.at(-1) === 0 && lengths.length > 1).toBe(false);
    },
  );

  it("are read from code first, then from storage, then through a template", async () => {
    const read = (uri: string) => handlers.readResource({ uri, asked: uri }, callOf({ method: "resources/read" }));
    const { handlers, store } = serve({
      resources: [
        defineResource({ uri: "note:code", name: "c", text: "code" }),
        defineTemplate({
          uriTemplate: "note:{id}",
          name: "t",
          read: ({ id }) => (id === "none" ? undefined : `made ${id}`),
        }),
      ],
    });
    for (const uri of ["note:code", "note:stored"]) await store.write({ uri, name: "s", text: "stored" });
    const textOf = async (uri: string) => JSON.stringify(await read(uri));
    expect(await textOf("note:code")).toContain('"code"');
    expect(await textOf("note:stored")).toContain('"stored"');
    expect(await textOf("note:else")).toContain('"made else"');
    expect(await read("note:none")).toMatchObject({ kind: "failure", error: "resourceNotFound" });
  });

  it("have nothing to complete, however their URI is written", async () => {
    const { handlers } = serve({
      resources: [defineResource({ uri: "HTTPS://Example.com/%7Ea", name: "a", text: "" })],
    });
    const complete = (uri: string) =>
      handlers.complete({ type: "resource", uri }, { name: "x", value: "", known: {} }, callOf());
    for (const uri of ["https://example.com/~a", "https://EXAMPLE.com/%7ea"]) expect(await complete(uri)).toEqual([]);
    for (const uri of ["https://example.com/~b", "no uri"]) {
      expect(await complete(uri)).toMatchObject({ error: "invalidParams" });
    }
  });

  it("do not tell a client why one could not be read, only the operator", async () => {
    const errors: unknown[] = [];
    const secret = new Error("postgres://user:password@host");
    const { handlers } = serve(
      { resources: [defineResource({ uri: "note:a", name: "a", read: () => Promise.reject(secret) })] },
      { onError: (error) => errors.push(error) },
    );
    const outcome = await handlers.readResource(
      { uri: "note:a", asked: "note:a" },
      callOf({ method: "resources/read" }),
    );
    expect(outcome).toMatchObject({ kind: "failure", error: "internal" });
    expect(JSON.stringify(outcome)).not.toContain("password");
    expect(errors).toEqual([secret]);
  });
});

describe("a tenant's view", () => {
  const tool = (name: string) => defineTool({ name, handler: () => "" });
  const catalog: Catalog = {
    server: { name: "test", version: "1" },
    instructions: "for all",
    tools: ["notes.read", "notes.write", "mail.send"].map(tool),
    prompts: ["daily", "weekly"].map((name) => definePrompt({ name, handler: () => "" })),
    resources: [
      defineResource({ uri: "note:a", name: "a", text: "" }),
      defineResource({ uri: "mail:a", name: "a", text: "" }),
      defineTemplate({ uriTemplate: "note:{id}", name: "n" }),
    ],
  };
  const seen = (definition: TenantDefinitionOf<NewResource>, whole: Catalog = catalog) => {
    const acme = defineTenants({ acme: definition }).get("acme");
    if (!acme) throw new Error("no tenant");
    const policy = { document: {}, suspensions: [], deprecatedNames: [] };
    return createView(createTenantCatalog(whole, acme, { policy, version: 1 }), { profile: null, scopes: undefined });
  };

  it("has everything by default", () => {
    const view = seen({});
    expect([view.tools.length, view.prompts.length, view.resources.length, view.templates.length]).toEqual([
      3, 2, 2, 1,
    ]);
    expect(view.instructions).toBe("for all");
  });

  it("has only what its patterns cover, in lists and in lookups", () => {
    const view = seen({
      tools: ["notes.*"],
      prompts: ["d*"],
      resources: ["note:*"],
      instructions: "own",
    });
    expect(view.tools.map(({ wire }) => wire.name)).toEqual(["notes.read", "notes.write"]);
    expect(view.tool("mail.send", 0)).toBeUndefined();
    expect(view.prompts.map(({ wire }) => wire.name)).toEqual(["daily"]);
    expect([...view.resourcesByUri.keys()]).toEqual(["note:a"]);
    expect(view.templates).toHaveLength(1);
    expect(view.instructions).toBe("own");
  });

  it("has search and fetch when it wants them, under no pattern", () => {
    const view = seen({ tools: [], search: true });
    expect(view.tools.map(({ wire }) => wire.name)).toEqual(["search", "fetch"]);
  });
});

describe("a hook that refuses", () => {
  const resources = [
    defineResource({ uri: "code:x", name: "x", text: "secret" }),
    defineTemplate({ uriTemplate: "made:{id}", name: "made", read: () => "secret" }),
  ];
  const tools = [defineTool({ name: "t", handler: () => "secret" })];
  const prompts = [definePrompt({ name: "p", handler: () => "secret" })];

  it("runs once for each call or read, and its error is all that the client gets", async () => {
    const seen: string[] = [];
    const { handlers, store } = serve(
      { resources, tools, prompts },
      {
        beforeCall: ({ name }) => {
          seen.push(name);
          return "not on Sundays";
        },
      },
    );
    await store.write({ uri: "stored:x", name: "x", text: "secret" });
    const call = callOf();
    const outcomes = [
      await toolOf(handlers).call({}, call),
      await promptOf(handlers).get({}, call),
      ...(await Promise.all(
        ["code:x", "made:1", "stored:x"].map((uri) => handlers.readResource({ uri, asked: uri }, call)),
      )),
    ];
    for (const outcome of outcomes) {
      expect(JSON.stringify(outcome)).toContain("not on Sundays");
      expect(JSON.stringify(outcome)).not.toContain("secret");
    }
    expect(seen).toEqual(["t", "p", "code:x", "made:1", "stored:x"]);
  });
});

describe("what goes wrong in a handler", () => {
  it("is not shown for a failing prompt, because its text may contain what the prompt read", async () => {
    const errors: unknown[] = [];
    const failing = definePrompt({
      name: "p",
      handler: () => {
        throw new Error("https://user:token@example.com");
      },
    });
    const { handlers } = serve({ prompts: [failing] }, { onError: (error) => errors.push(error) });
    const outcome = await promptOf(handlers).get({}, callOf());
    expect(JSON.stringify(outcome)).not.toContain("token");
    expect(errors).toHaveLength(1);
  });

  it("in the afterCall hook does not lose the result", async () => {
    const errors: unknown[] = [];
    const { handlers } = serve(
      { tools: [defineTool({ name: "t", handler: () => "done" })] },
      {
        afterCall: () => {
          throw new Error("the log is full");
        },
        onError: (error) => errors.push(error),
      },
    );
    expect(JSON.stringify(await toolOf(handlers).call({}, callOf()))).toContain("done");
    expect(errors).toHaveLength(1);
  });
});

describe("arguments", () => {
  it("of too many values are refused before the schema validates them", async () => {
    const greedy = defineTool({ name: "t", input: { type: "object", properties: {} }, handler: () => "ran" });
    const { handlers } = serve({ tools: [greedy] });
    const many = { list: Array.from({ length: 20_000 }, () => 0) };
    expect(await toolOf(handlers).call(many, callOf())).toMatchObject({ kind: "invalidArguments" });
    expect(await toolOf(handlers).call({ list: many.list.slice(5) }, callOf())).toMatchObject({ kind: "complete" });
  });
});

describe("an output", () => {
  it("is validated as it is sent, without the schema's defaults", async () => {
    const output = { type: "object", properties: { a: { type: "number", default: 1 } }, required: ["a"] };
    const { handlers } = serve({
      tools: [defineTool({ name: "t", output, handler: () => ({ structuredContent: {} }) })],
    });
    expect(await toolOf(handlers).call({}, callOf())).toMatchObject({ result: { isError: true } });
  });
});
