// `tenantry/testing` runs one tool, prompt, resource or template as a client would, without a Worker. Protocol core,
// view and sources are the same as in a Worker.

import type { Prompt } from "../handlers/prompt.ts";
import type { Resource, ResourceTemplate } from "../handlers/resource.ts";
import type { Tool } from "../handlers/tool.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { paramHeaders } from "../protocol/headers.ts";
import { typeOf } from "../protocol/members.ts";
import { createTestContext, type TestContext, type CaseOptions } from "./test-context.ts";
import { invoke, type TestRun } from "./invoke.ts";

export type { CaseOptions } from "./test-context.ts";
export type { TestRun } from "./test-run.ts";

/**
 * Calls one tool and returns what the client receives. In era 2026 the run takes as many rounds as the handler asks
 * questions. Provide bindings, settings and secrets in `options`. Throws a TypeError for a value that is not a tool or
 * for an unknown option. Rejects with a TypeError if a question has no fitting answer.
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

/** Gets one prompt; `result.messages` has the messages. Errors are those of `runTool`. */
export function runPrompt(
  prompt: Prompt<never, never>,
  args: Readonly<Record<string, string>> = {},
  options: CaseOptions = {},
): Promise<TestRun> {
  checkKind("runPrompt", "prompt", prompt);
  const context = createTestContext({ prompts: [prompt as Prompt] }, options);
  return invoke(context, { method: "prompts/get", params: { name: prompt.name, arguments: args } });
}

/** Reads `uri` from a resource or a template; `result.contents` has the contents. Errors are those of `runTool`. */
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

/**
 * Lists all pages of a template in `result.resources`. If a page fails, returns the run of that page with its `error`.
 * Rejects with a TypeError for a value that is not a template or for an unknown option.
 */
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

/**
 * Catches plain JavaScript mistakes: a name, a bare handler or a missing import instead of a definition. `kinds` are
 * the accepted kinds, separated by a space.
 */
function checkKind(runner: string, kinds: string, definition: { readonly kind: string } | undefined): void {
  if (kinds.split(" ").includes(String(definition?.kind))) return;
  const makers = kinds.split(" ").map((kind) => `define${kind.charAt(0).toUpperCase()}${kind.slice(1)}`);
  const what = definition?.kind === undefined ? typeOf(definition) : `a ${definition.kind}`;
  throw new TypeError(`${runner} takes what ${makers.join(" or ")} returned, it got ${what}`);
}

function listPage(context: TestContext, cursor: unknown): Promise<TestRun> {
  return invoke(context, { method: "resources/list", params: cursor === undefined ? {} : { cursor } });
}
