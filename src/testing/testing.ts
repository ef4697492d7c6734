// Owns `tenantry/testing`: running one tool, prompt, resource or template in either era as a client would have it run, without
// a Worker. The protocol core, the view and the sources are those that a Worker has. Refuses to assert anything.

import type { Prompt } from "../content/define/prompt.ts";
import type { Resource, ResourceTemplate } from "../content/define/resource.ts";
import type { Tool } from "../content/define/tool.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { paramHeaders } from "../protocol/headers.ts";
import { openCase, type Case, type CaseOptions } from "./case.ts";
import { runAsked, type TestRun } from "./run-asked.ts";

export type { CaseOptions } from "./case.ts";
export type { TestRun } from "./test-run.ts";

/**
 * The result of a call, as a client gets it: in era 2026 after as many rounds as the handler asks in.
 * What the handler reads of bindings and settings is for the test to give.
 */
export function runTool(tool: Tool<never, never>, args: JsonObject = {}, options: CaseOptions = {}): Promise<TestRun> {
  refuseOther("runTool", "tool", tool);
  const mirrored = paramHeaders(tool.paramHeaders, args);
  const opened = openCase({ tools: [tool as Tool] }, options);
  return runAsked(opened, { method: "tools/call", params: { name: tool.name, arguments: args }, mirrored });
}

/** The messages of a prompt. */
export function runPrompt(
  prompt: Prompt<never, never>,
  args: Readonly<Record<string, string>> = {},
  options: CaseOptions = {},
): Promise<TestRun> {
  refuseOther("runPrompt", "prompt", prompt);
  const opened = openCase({ prompts: [prompt as Prompt] }, options);
  return runAsked(opened, { method: "prompts/get", params: { name: prompt.name, arguments: args } });
}

/** The contents of a resource, or of what a template has under this URI. */
export function readFrom(
  resource: Resource<never, never> | ResourceTemplate<never, never>,
  uri: string,
  options: CaseOptions = {},
): Promise<TestRun> {
  refuseOther("readFrom", "resource template", resource);
  return runAsked(openCase({ resources: [resource as Resource | ResourceTemplate] }, options), {
    method: "resources/read",
    params: { uri },
  });
}

/** What a template lists, all of its pages: `result.resources`. */
export async function listFrom(template: ResourceTemplate<never, never>, options: CaseOptions = {}): Promise<TestRun> {
  refuseOther("listFrom", "template", template);
  const opened = openCase({ resources: [template as ResourceTemplate] }, options);
  const resources: unknown[] = [];
  for (let cursor: unknown; ;) {
    const ran = await page(opened, cursor);
    if (ran.error) return ran;
    resources.push(...(ran.result["resources"] as readonly unknown[]));
    cursor = ran.result["nextCursor"];
    if (cursor === undefined) return { ...ran, result: { ...ran.result, resources } };
  }
}

/** A name, a handler alone or an import that is not there, in JavaScript; `kinds`: of what is run. */
function refuseOther(runner: string, kinds: string, definition: { readonly kind: string } | undefined): void {
  if (kinds.split(" ").includes(String(definition?.kind))) return;
  throw new TypeError(`${runner} runs a ${kinds.replace(" ", " or a ")}: give it what define... returned`);
}

function page(opened: Case, cursor: unknown): Promise<TestRun> {
  return runAsked(opened, { method: "resources/list", params: cursor === undefined ? {} : { cursor } });
}
