// What a Worker in development says at its start of names: of tools that clients refuse, and of what a tenant in code selects
// and nothing in code has.

import { expect, it, onTestFinished, vi } from "vitest";
import { warnOfNames } from "../../src/deployment/names-in-code.ts";
import { defineTenants } from "../../src/tenants/document/tenant-definition.ts";
import { definePrompt, defineTool, type TenantDefinition } from "../../src/tenantry.ts";

function said(tenants: Readonly<Record<string, TenantDefinition>>, ...named: string[]): readonly string[] {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  const tools = ["add_days", ...named].map((name) => defineTool({ name, handler: () => "" }));
  const prompts = [definePrompt({ name: "hello", handler: () => "" })];
  warnOfNames({ catalog: { tools, prompts }, tenants: defineTenants(tenants) });
  return warn.mock.calls.map(([line]) => String(line));
}

it.each<[what: string, tenant: TenantDefinition, says: string]>([
  [
    "a tool in a scope",
    { scopes: { read: { tools: ["add_day"] } } },
    'tenant "acme": scopes.read.tools: there is no tool "add_day"; did you mean "add_days"?',
  ],
  [
    "a prompt in a scope",
    { scopes: { read: { prompts: ["helo"] } } },
    'tenant "acme": scopes.read.prompts: there is no prompt "helo"; did you mean "hello"?',
  ],
  [
    "a prompt that a profile allows",
    { profiles: { p: { prompts: { allow: ["nothing_like_it"] } } } },
    'tenant "acme": profiles.p.prompts: there is no prompt "nothing_like_it"',
  ],
  [
    "a prompt that a profile hides",
    { profiles: { p: { prompts: { deny: ["helo"] } } } },
    'tenant "acme": profiles.p.prompts: there is no prompt "helo"; did you mean "hello"?',
  ],
  [
    "a prompt that a profile renames",
    { profiles: { p: { prompts: { rename: { helo: { name: "hi" } } } } } },
    'tenant "acme": profiles.p.prompts: there is no prompt "helo"; did you mean "hello"?',
  ],
])("%s is named, with what was meant", (_what, acme, says) => {
  expect(said({ globex: {}, acme })).toEqual([says]);
});

it("names that are there, patterns, built-in tools and what upstreams may bring are not", () => {
  const scopes = { read: { tools: ["add_days", "search", "fetch", "tracker__search", "draft_*"], prompts: ["h?"] } };
  const profiles = { p: { tools: { allow: ["add_days"] }, prompts: { allow: ["hello", "*"] } } };
  expect(said({ acme: { scopes, profiles } })).toEqual([]);
});

it("a tool is named that clients would refuse, with all others", () => {
  const long = "x".repeat(65);
  const rule = "Claude, Codex and Copilot refuse all tools for one such name; use 1 to 64 of A-Z, a-z, 0-9, _ and -";
  expect(said({}, "a.b", "a-b_C", long, "x".repeat(64))).toEqual([`tool "a.b": ${rule}`, `tool "${long}": ${rule}`]);
});
