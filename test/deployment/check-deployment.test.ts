// What only shows when a Worker is put together: names that are there twice, tenants that list what nobody defines, bindings.

import { describe, expect, it } from "vitest";
import { missingBinding } from "../../src/deployment/check-deployment.ts";
import { admin, createWorker, definePrompt, defineResource, defineTemplate, defineTool } from "../../src/tenantry.ts";
import type { WorkerOptions } from "../../src/tenantry.ts";

const tool = (name: string) => defineTool({ name, handler: () => "" });
const prompt = (name: string) => definePrompt({ name, handler: () => "" });
const resource = (uri: string) => defineResource({ uri, name: uri, text: "" });
const template = (uriTemplate: string) => defineTemplate({ uriTemplate, name: uriTemplate });

describe("createWorker", () => {
  it.each<[what: string, options: WorkerOptions, says: string]>([
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
  ])("refuses %s", (_what, options, says) => {
    expect(() => createWorker(options)).toThrow(says);
  });

  it("takes patterns that match nothing yet, built-in tools, and a default tenant that is made later", () => {
    const tenants = { acme: { tools: ["later_*"], config: { search: { limit: 3 } } } };
    expect(() => createWorker({ tenants, defaultTenant: "somebody" })).not.toThrow();
  });
});

describe("bindings", () => {
  const all = { TENANTS: {}, SESSIONS: {}, HUBS: {}, DIRECTORY: {}, BODIES: {} };

  it("are named when they are missing, those of features too", () => {
    expect(missingBinding(all, [])).toBeUndefined();
    expect(missingBinding({ ...all, HUBS: undefined }, [])).toContain("binds no HUBS");
    expect(missingBinding({ BODIES: {} }, [])).toContain("TENANTS, SESSIONS, HUBS, DIRECTORY");
    expect(missingBinding(all, [admin()])).toContain("binds no PLATFORM");
  });
});
