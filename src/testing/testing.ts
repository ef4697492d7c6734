// Owns `tenantry/testing`: running one tool, prompt, resource or template in either era as a client would have it run, without
// a Worker. The protocol core, the view and the sources are those that a Worker has. Refuses to assert anything.

import type { Prompt } from "../handlers/prompt.ts";
import type { Resource, ResourceTemplate } from "../handlers/resource.ts";
import type { Tool } from "../handlers/tool.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { paramHeaders } from "../protocol/headers.ts";
import { createTestContext, type TestContext, type CaseOptions } from "./test-context.ts";
import { invoke, type TestRun } from "./invoke.ts";

export type { CaseOptions } from "./test-context.ts";
export type { TestRun } from "./test-run.ts";

/**
 * The result of a call, as a client gets it: in era 2026 after as many rounds as the handler asks in.
 * What the handler reads of bindings and settings is for the test to give.
 */
export function runTool(tool: Tool<never, never>, args: JsonObject = {}, options: CaseOptions = {}): Promise<TestRun> {
  checkKind("runTool", "tool", tool);
  const mirrored = paramHeaders(tool.paramHeaders, args);
  const context = createTestContext({ tools: [tool as Tool] }, options);
  return invoke(context, {
    method: "tools/call",
    params: { name: tool.name, arguments: args },
    paramHeaders: mirrored,
  });
}

/** The messages of a prompt. */
export function runPrompt(
  prompt: Prompt<never, never>,
  args: Readonly<Record<string, string>> = {},
  options: CaseOptions = {},
): Promise<TestRun> {
  checkKind("runPrompt", "prompt", prompt);
  const context = createTestContext({ prompts: [prompt as Prompt] }, options);
  return invoke(context, { method: "prompts/get", params: { name: prompt.name, arguments: args } });
}

/** The contents of a resource, or of what a template has under this URI. */
export function readFrom(
  resource: Resource<never, never> | ResourceTemplate<never, never>,
  uri: string,
  options: CaseOptions = {},
): Promise<TestRun> {
  checkKind("readFrom", "resource template", resource);
  return invoke(createTestContext({ resources: [resource as Resource | ResourceTemplate] }, options), {
    method: "resources/read",
    params: { uri },
  });
}

/** What a template lists, all of its pages: `result.resources`. */
export async function listFrom(template: ResourceTemplate<never, never>, options: CaseOptions = {}): Promise<TestRun> {
  checkKind("listFrom", "template", template);
  const context = createTestContext({ resources: [template as ResourceTemplate] }, options);
  const resources: unknown[] = [];
  for (let cursor: unknown; ;) {
    const run = await listPage(context, cursor);
    if (run.error) return run;
    resources.push(...(run.result["resources"] as readonly unknown[]));
    cursor = run.result["nextCursor"];
    if (cursor === undefined) return { ...run, result: { ...run.result, resources } };
  }
}

/** A name, a handler alone or an import that is not there, in JavaScript; `kinds`: of what is run. */
function checkKind(runner: string, kinds: string, definition: { readonly kind: string } | undefined): void {
  if (kinds.split(" ").includes(String(definition?.kind))) return;
  throw new TypeError(`${runner} runs a ${kinds.replace(" ", " or a ")}: give it what define... returned`);
}

function listPage(context: TestContext, cursor: unknown): Promise<TestRun> {
  return invoke(context, { method: "resources/list", params: cursor === undefined ? {} : { cursor } });
}
