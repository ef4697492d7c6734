// What only shows when a Worker is put together: names that are there twice, tenants that list what nobody defines, bindings.

import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  ENTRYPOINTS,
  missingBinding,
  missingExport,
  missingFlag,
  missingObjectClass,
} from "../../src/deployment/check-configuration.ts";
import { OBJECT_CLASSES } from "../../src/tenants/directory/object-classes.ts";
import {
  admin,
  createWorker,
  definePrompt,
  defineResource,
  defineTemplate,
  defineTool,
  gateway,
  links,
  login,
} from "../../src/tenantry.ts";
import type { WorkerOptions } from "../../src/app/create-worker.ts";
import type { Feature, TenantDefinition } from "../../src/tenantry.ts";

const tool = (name: string) => defineTool({ name, handler: () => "" });
const prompt = (name: string) => definePrompt({ name, handler: () => "" });
const resource = (uri: string) => defineResource({ uri, name: uri, text: "" });
const template = (uriTemplate: string) => defineTemplate({ uriTemplate, name: uriTemplate });

describe("createWorker", () => {
  it.each<[what: string, options: WorkerOptions, says: string]>([
    [
      "an extension that is no object",
      { extensions: { "com.example/x": 1 as never } },
      'extensions: "com.example/x" must be an object',
    ],
    ["a tool twice", { tools: [tool("a"), tool("b"), tool("a")] }, 'tool "a" is defined twice'],
    ["a prompt twice", { prompts: [prompt("a"), prompt("a")] }, 'prompt "a" is defined twice'],
    ["a resource twice", { resources: [resource("note:a"), resource("NOTE:a")] }, 'resource "note:a" is defined twice'],
    ["a template twice", { resources: [template("n:{a}"), template("n:{a}")] }, 'resource "n:{a}" is defined twice'],
    ["a feature twice", { features: [admin(), admin()] }, 'feature "admin" is defined twice'],
    [
      "a tool that a tenant lists and nobody defines",
      { tools: [tool("add_workdays")], tenants: { acme: { tools: ["ad_workdays"] } } },
      'tenant "acme": tools: there is no tool "ad_workdays"; did you mean "add_workdays"?',
    ],
    [
      "a prompt that nobody defines",
      { tenants: { acme: { prompts: ["daily"] } } },
      'tenant "acme": prompts: there is no prompt "daily"',
    ],
    [
      "a resource that nobody defines",
      { resources: [resource("note:a")], tenants: { acme: { resources: ["note:b"] } } },
      'tenant "acme": resources: there is no resource "note:b"; did you mean "note:a"?',
    ],
    [
      "a configuration of a tool that nobody defines",
      { tools: [tool("quote")], tenants: { acme: { config: { qoute: {} } } } },
      'tenant "acme": config: there is no tool "qoute"; did you mean "quote"?',
    ],
    ["a tenant that cannot be one", { tenants: { Acme: {} } }, 'tenant id "Acme"'],
    ["a path that is none", { path: "ai" }, 'path "ai"'],
    ["a path that is served below it", { path: "/mcp" }, 'path "/mcp": is reserved'],
    ["a path in one", { path: "/admin/ai/" }, 'path "/admin/ai/": is reserved'],
    [
      "a limit by a near name",
      { limits: { toolCall: 5 } as never },
      'limits: unknown limit toolCall; did you mean "toolCalls"?',
    ],
    ["settings that are no object", { settings: z.string() }, "settings: must be a schema of an object"],
    ["a default tenant that nobody could make", { defaultTenant: "nope" }, 'defaultTenant: there is no tenant "nope"'],
    [
      "a default tenant that is written otherwise",
      { tenants: { acme: {}, other: {} }, defaultTenant: "acmee" },
      'defaultTenant: there is no tenant "acmee"; did you mean "acme"?',
    ],
  ])("refuses %s", (_what, options, says) => {
    expect(() => createWorker(options)).toThrow(says);
  });

  it("takes patterns that match nothing yet, built-in tools, and a default tenant that is made later", () => {
    const tenants = { acme: { tools: ["later_*"], config: { search: { limit: 3 } } } };
    expect(() => createWorker({ tenants, defaultTenant: "somebody", features: [admin()] })).not.toThrow();
  });

  it.each<[what: string, definition: object, says: string]>([
    [
      "a mode in capitals",
      { mode: "Open" },
      'mode must be one of open, key, oauth, key+oauth, mixed, not "Open"; did you mean "open"?',
    ],
    ["a mode that is none", { mode: null }, "mode must be one of open, key, oauth, key+oauth, mixed, not null"],
    ["a title that is no text", { title: 5 }, "title must be a string"],
    ["instructions that are no text", { instructions: {} }, "instructions must be a string"],
    ["a seed that is no function", { seed: [] }, "seed must be a function"],
    ["a staleness that is no number", { maxStalenessMs: "50" }, "maxStalenessMs must be a whole number"],
    ...["extends", "hostnames", "names", "allowedOrigins", "toString"].map((member): [string, object, string] => [
      `${member}, of the document`,
      { [member]: {} },
      `unknown field ${member}`,
    ]),
    ["a profile whose name is none", { profiles: { "No Name": {} } }, "profiles.No Name: a name must be 1 to 40"],
    ["a profile with a stray member", { profiles: { p: { mode: "key" } } }, "profiles.p: unknown field mode"],
    ["a profile's title that is none", { profiles: { p: { title: 5 } } }, "profiles.p: title must be a string"],
    [
      "a profile that allows no list",
      { profiles: { p: { tools: { allow: 5 } } } },
      "profiles.p.tools.allow must be a list of patterns",
    ],
    [
      "a profile's stray list",
      { profiles: { p: { prompts: { only: [] } } } },
      "profiles.p.prompts: unknown field only",
    ],
    [
      "a profile that renames to what is no name",
      { profiles: { p: { tools: { rename: { a: { name: 5 } } } } } },
      "profiles.p.tools.rename.a: name must be a string",
    ],
    [
      "a profile that names a tool that nobody defines",
      { profiles: { p: { tools: { deny: ["quoote"] } } } },
      'profiles: there is no tool "quoote"; did you mean "quote"?',
    ],
    ["a limit that there is none of", { limits: { messages: 5 } }, "limits: unknown limit messages"],
    ["a limit that is no number", { limits: { toolCalls: "5" } }, "limits: toolCalls must be a whole number from 1 to"],
    [
      "a limit that no tenant can say",
      { limits: { addressRefusals: 5 } },
      "limits: addressRefusals cannot be set for a tenant",
    ],
    ["exactness that is neither", { limits: { exact: 1 } }, "limits: exact must be true or false"],
    ["a seed with a URI that is none", { seed: () => [{ uri: "no uri", name: "n", text: "" }] }, "seed: no uri: a URI"],
    [
      "a seed without a body",
      { seed: () => [{ uri: "note:a", name: "n" }] },
      "seed: resource body: must be text or blob",
    ],
    ["a seed without a name", { seed: () => [{ uri: "note:a", text: "" }] }, "seed: resource name: must have 1 to"],
    [
      "a seed that throws",
      {
        seed: () => {
          throw new Error("not today");
        },
      },
      "seed: not today",
    ],
    ["a text in place of a list of tools", { tools: "quote" }, "tools must be a list of patterns"],
    ["a tool in place of its name", { tools: [tool("quote")] }, "tools must be a list of patterns"],
    ["a function that chooses prompts", { prompts: () => true }, "prompts must be a list of patterns"],
    ["a limit by a near name", { limits: { session: 5 } }, 'limits: unknown limit session; did you mean "sessions"?'],
    ["limits that are none", { limits: 5 }, "limits must be an object"],
    ["a list of scopes", { scopes: ["read"] }, "scopes must be an object"],
    ["a scope that is a list", { scopes: { read: ["quote"] } }, "scopes.read must be an object"],
    [
      "a scope with a stray member",
      { scopes: { read: { tool: ["quote"] } } },
      "scopes.read: unknown field tool, expected description, tools, prompts, resources; did you mean",
    ],
    [
      "a scope with a text of tools",
      { scopes: { read: { tools: "quote" } } },
      "scopes.read.tools must be a list of patterns",
    ],
    ["a search that is a text", { search: "yes" }, "search must be a boolean"],
    ["a list of profiles", { profiles: ["p"] }, "profiles must be an object"],
    ["a profile that is no object", { profiles: { p: ["quote"] } }, "profiles.p must be an object"],
    ["a profile with a list of tools", { profiles: { p: { tools: ["quote"] } } }, "profiles.p.tools must be an object"],
    ["an around that is no function", { around: [] }, "around must be a function"],
    ["a seed that is no list", { seed: () => 5 }, "seed: "],
  ])("refuses a tenant with %s", (_what, definition, says) => {
    expect(() => createWorker({ tools: [tool("quote")], tenants: { acme: definition } })).toThrow(
      `tenant "acme": ${says}`,
    );
  });

  it("refuses a predicate that throws, as it threw", () => {
    const tools = () => {
      throw new Error("no database");
    };
    expect(() => createWorker({ tools: [tool("quote")], tenants: { acme: { tools } } })).toThrow("no database");
  });

  describe("with schemas of tenant settings", () => {
    const quote = defineTool({
      name: "quote",
      config: z.object({ base: z.number(), per: z.object({ kg: z.number() }).optional() }),
      handler: () => "",
    });
    const settings = z.object({ plan: z.enum(["free", "paid"]) });
    const started = (tenant: TenantDefinition, features: Feature[] = []) =>
      createWorker({ tools: [quote], settings, tenants: { acme: tenant }, features });
    const good = { settings: { plan: "free" }, config: { quote: { base: 1 } } };

    it("takes what fits, and lacks what a tenant does not have", () => {
      expect(() => started(good)).not.toThrow();
      expect(() => started({ settings: { plan: "free" }, tools: [] })).not.toThrow();
    });

    it.each<[what: string, definition: TenantDefinition, says: string]>([
      ["a configuration that breaks a rule", { config: { quote: { base: "1" } } }, "config.quote.base Invalid input"],
      ["one that breaks it within", { config: { quote: { base: 1, per: {} } } }, "config.quote.per.kg Invalid input"],
      ["settings that break a rule", { settings: { plan: "gold" } }, "settings.plan Invalid option"],
      ["no configuration, where nobody can write one later", { config: {} }, "config.quote.base Invalid input"],
      ["no settings, where nobody can write some later", { settings: {} }, "settings.plan Invalid"],
    ])("refuses %s", (_what, definition, says) => {
      expect(() => started({ ...good, ...definition })).toThrow(`tenant "acme": ${says}`);
    });

    it("refuses a tenant without required settings, if they cannot be written later", () => {
      expect(() => createWorker({ settings, tenants: { acme: {} } })).toThrow('tenant "acme": settings.plan Invalid');
    });

    it("leaves to operators what they may write later, and not what is wrong already", () => {
      expect(() => started({}, [admin()])).not.toThrow();
      expect(() => started({ config: { quote: {} } }, [admin()])).toThrow("config.quote.base");
    });

    it("refuses an asynchronous schema, and an invalid one", () => {
      const waits = z.object({ plan: z.string().refine(() => Promise.resolve(true)) });
      expect(() => createWorker({ settings: waits, tenants: { acme: { settings: { plan: "x" } } } })).toThrow("async");
      expect(() => createWorker({ settings: { plan: z.string() } as never })).toThrow("this is a zod shape");
      expect(() => defineTool({ name: "t", config: { plan: z.string() } as never, handler: () => "" })).toThrow(
        'tool "t": config: this is a zod shape',
      );
    });
  });

  const auth = { issuers: [{ issuer: "https://login.example.com" }] };

  it.each<[what: string, definition: object, says: string]>([
    [
      "a mode that needs auth and has none",
      { mode: "oauth" },
      'mode "oauth" needs auth; without auth, mode must be open or key',
    ],
    ["a mode that is none", { mode: "Oauth", auth }, "mode must be one of open, key, oauth, key+oauth, mixed"],
    ["auth that is none", { mode: "oauth", auth: true }, "auth.issuers must be objects with issuer"],
    ["no issuers", { mode: "oauth", auth: { issuers: [] } }, "auth.issuers must be objects"],
    [
      "an issuer by name alone",
      { mode: "oauth", auth: { issuers: ["https://x.example"] } },
      "auth.issuers must be objects",
    ],
    [
      "scopes that are none",
      { mode: "oauth", auth: { issuers: [{ issuer: "https://x.example.com", scopes: { claim: "scope" } }] } },
      "auth.issuers must be objects",
    ],
    [
      "an issuer that is no URL",
      { mode: "oauth", auth: { issuers: [{ issuer: "login" }] } },
      "auth.issuers.0.issuer must be a URL",
    ],
    [
      "a mode that shows something to everybody",
      { mode: "mixed", auth },
      "auth.anonymous is required in the mode mixed",
    ],
    [
      "scopes that nobody defines",
      { mode: "mixed", auth: { ...auth, anonymous: { scopes: ["publik"] } }, scopes: { public: { tools: ["*"] } } },
      'auth.anonymous.scopes must name a scope of this tenant, not "publik"; did you mean "public"?',
    ],
    [
      "scopes of everybody that are no list",
      { mode: "mixed", auth: { ...auth, anonymous: {} } },
      "auth.anonymous must be { scopes: [...] }",
    ],
  ])("refuses a tenant with %s", (_what, definition, says) => {
    expect(() => createWorker({ tenants: { acme: definition }, features: [login()] })).toThrow(
      `tenant "acme": ${says}`,
    );
  });

  it("accepts a tenant with auth if there is login(), and names it otherwise", () => {
    const scopes = { public: { tools: ["*"] } };
    const acme = { mode: "mixed", auth: { ...auth, anonymous: { scopes: ["public"] } }, scopes } as const;
    expect(() => createWorker({ tenants: { acme }, features: [login()] })).not.toThrow();
    const says = 'tenant "acme": auth needs the feature login(), which this Worker does not have';
    expect(() => createWorker({ tenants: { acme }, features: [admin()] })).toThrow(says);
  });

  it("takes a seed that needs what only a request has", () => {
    const seed = () => {
      throw new Error("Disallowed operation called within global scope. Random values cannot be made here.");
    };
    expect(() => createWorker({ tenants: { acme: { seed } } })).not.toThrow();
  });
});

describe("a missing entry of wrangler.toml", () => {
  it("is named: the KV namespace", () => {
    expect(missingBinding({})).toContain("no KV binding BODIES");
    expect(missingBinding({ BODIES: {} })).toBeUndefined();
  });

  it("is named: the flag that keeps ctx.fetch out of your own zone", () => {
    expect(missingFlag({ compatibilityFlags: {} })).toContain('compatibility_flags = ["global_fetch_strictly_public"]');
    expect(missingFlag(Cloudflare)).toBeUndefined();
  });

  it.each(OBJECT_CLASSES)("is named: the class %s", (name) => {
    // What the Worker exports and no migration names has no objects.
    expect(missingObjectClass({ [name]: {} })).toContain(
      `new_sqlite_classes in wrangler's configuration does not list ${name}:`,
    );
    expect(missingObjectClass({})).toBeUndefined();
  });

  it("is named: all classes at once", () => {
    expect(missingObjectClass({ TenantObject: {}, HubObject: {} })).toMatch(/does not list \w+, \w+/);
  });

  it.each(ENTRYPOINTS)("is named: an export, %s", (name) => {
    const exported = Object.fromEntries(ENTRYPOINTS.map((one) => [one, one === name ? undefined : {}]));
    const sentence = `does not export ${name}: write export * from "tenantry/objects" in the file that main names`;
    expect(missingExport({ exports: exported })).toContain(sentence);
    expect(missingExport({ exports: { ...exported, [name]: {} } })).toBeUndefined();
    expect(missingExport({})).toContain("compatibility_date must be");
  });
});

describe("createWorker", () => {
  const quote = tool("quote");
  it.each<[what: string, options: object, says: string]>([
    ["a member that it does not have", { authenticat: () => undefined }, "unknown field authenticat, expected name, "],
    [
      "a hook that there is none of",
      { hooks: { onErrors: () => {} } },
      "hooks: unknown field onErrors, expected before",
    ],
    ["hooks that are none", { hooks: () => {} }, "hooks must be an object"],
    ["a function that is none", { authenticate: "me" }, "authenticate must be a function"],
    ["a list of arounds", { around: [] }, "around must be a function"],
    ["tools by name", { tools: { quote } }, "tools must be a list"],
    ["what no function here defined", { tools: [quote, { name: "b", handler: () => "" }] }, "tools[1] must be a tool"],
    ["a tool among resources", { resources: [quote] }, "resources[0] must be a resource"],
    [
      "a feature that was not called",
      { features: [admin] },
      "features[0] must be a feature: pass the result of a call",
    ],
    ["a feature that is no list", { features: admin() }, "features must be a list"],
    ["a list of tenants", { tenants: ["acme"] }, "tenants must be an object"],
    ["a hook that is no function", { hooks: { onError: "log" } }, "hooks: onError must be a function"],
    ["limits that are a number", { limits: 5 }, "limits must be an object"],
    ["a version that is a number", { version: 1 }, "version must be a string"],
    ["a list of tools", [quote], " must be an object"],
  ])("refuses %s", (_what, options, says) => {
    const at = says.startsWith(" ") ? "createWorker" : "createWorker: ";
    expect(() => createWorker(options)).toThrow(at + says);
  });

  it("says of which tenant there is no definition", () => {
    for (const acme of [null, "acme", true]) {
      expect(() => createWorker({ tenants: { acme } } as never)).toThrow('tenant "acme" must be an object');
    }
  });

  it("says of which schema of settings it speaks", () => {
    expect(() => createWorker({ settings: { plan: "free" } as never })).toThrow(
      "settings: has no keyword of JSON Schema",
    );
  });
});

describe("a feature", () => {
  it.each<[what: string, make: () => unknown, says: string]>([
    ["links() with options", () => links({ ttl: 5 } as never), "links() takes no options"],
    ["admin() with options", () => admin({ path: "/admin" } as never), "admin() takes no options"],
    ["login() with options", () => login({ issuers: [] } as never), "login() takes no options"],
    [
      "gateway() with an option that it does not have",
      () => gateway({ page: 3 } as never),
      'gateway: unknown field page, expected serviceBindings, pages, bounds; did you mean "pages"?',
    ],
    [
      "gateway() with a bound that it does not have",
      () => gateway({ bounds: { host: ["a.example"] } } as never),
      'gateway: bounds: unknown field host, expected hosts, most; did you mean "hosts"?',
    ],
    ["gateway() with what is no object", () => gateway(30 as never), "gateway must be an object"],
  ])("refuses %s", (_what, make, says) => {
    expect(make).toThrow(says);
  });
});
