// Handles a message with a `server_id` beside it. The message goes to that upstream unchanged, and its answer comes
// back without what the caller's view hides. Methods whose results a view cannot filter are rejected.

import { applyAround } from "../handlers/around.ts";
import { runBeforeCall } from "../handlers/run-handler-call.ts";
import type { GatewayEnvelope, EnvelopeContext } from "../deployment/deployment.ts";
import type { ListedKind } from "../protocol/definition.ts";
import { arrayElements, objectMembers, hasDuplicateMembers } from "../mcp-client/json-text.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { parseCompletion } from "../protocol/methods/completion.ts";
import { invalid, isFailure, readObject, readString, readStrings } from "../protocol/methods/params.ts";
import { toolError } from "../protocol/methods/tools.ts";
import { SerializedResult, type CallOutcome, type ToolOutcome } from "../protocol/call-outcome.ts";
import type { ResourceRef } from "../protocol/source.ts";
import { parseUri } from "../protocol/uri.ts";
import { KEY_OF } from "./upstream-definition.ts";
import { forwardCall } from "./forward-call.ts";
import type { UpstreamTarget } from "./upstream-call.ts";
import { policyName } from "./listed-name.ts";
import { addFlagsToText, createFlagLookup, flagsOf } from "./review/definition-flags.ts";
import { toListedUri, toOwnUri, renameResultUris } from "./uris/ui-uris.ts";
import type { UpstreamCatalog } from "./upstream-catalog.ts";
import type { UpstreamSource } from "./upstream-source.ts";

/** The founding documents require this code in both eras: docs/decisions/0007-two-eras-of-the-protocol.md */
const UNKNOWN_SERVER = -32001;

export function parseEnvelope(body: unknown): GatewayEnvelope | Failure {
  if (!isObject(body)) return failure("invalidRequest", "Invalid Request: the message must be a JSON object");
  const { server_id: server, ...message } = body;
  if (typeof server !== "string") return invalid("server_id", "must name an upstream of this tenant");
  return {
    message,
    toLimitedMessage: (view) => withListedName(server, message, view),
    answer: async (call, context) => dispatchToUpstream(server, call, context),
  };
}

function withListedName(server: string, message: JsonObject, { tools }: EnvelopeContext["view"]): JsonObject {
  const { params } = message;
  if (!isObject(params) || typeof params.name !== "string") return message;
  const target = policyName(server, params.name);
  const listed = tools.find((tool) => tool.target.name === target);
  return { ...message, params: { ...params, name: listed?.wire.name ?? target } };
}

interface MethodContext {
  readonly source: UpstreamSource;
  readonly upstreamTarget: UpstreamTarget;
  readonly call: McpRequest;
  readonly context: EnvelopeContext;
}

type EnvelopeMethod = (at: MethodContext) => CallOutcome | Promise<CallOutcome>;

const METHODS: Readonly<Record<string, EnvelopeMethod>> = {
  "tools/list": (at) => listUpstreamDefinitions(at, "tools"),
  "prompts/list": (at) => listUpstreamDefinitions(at, "prompts"),
  "resources/list": (at) => listUpstreamDefinitions(at, "resources"),
  "resources/templates/list": (at) => listUpstreamDefinitions(at, "resourceTemplates"),
  "tools/call": callUpstreamTool,
  "prompts/get": getUpstreamPrompt,
  "resources/read": readUpstreamResource,
  "completion/complete": completeAtUpstream,
  "server/discover": discoverUpstream,
  "logging/setLevel": forwardUnchanged,
  ping: forwardUnchanged,
};

async function dispatchToUpstream(server: string, call: McpRequest, context: EnvelopeContext): Promise<CallOutcome> {
  const { view } = context;
  const source = view.visibleSources.find((one): one is UpstreamSource => one.id === server && "upstream" in one);
  if (!source) {
    return { ...failure("foreign", `Server '${server}' not found`), code: UNKNOWN_SERVER };
  }
  const { upstreamTarget, state } = source;
  const method = Object.hasOwn(METHODS, call.method) ? METHODS[call.method] : undefined;
  if (!method) return failure("methodNotFound");
  if (upstreamTarget) return method({ source, upstreamTarget, call, context });
  const why = state.kind === "fresh" ? "" : state.why;
  return failure("unreachableServer", undefined, { server, fault: "unread", why });
}

/** Names of this upstream's definitions in the view, before a profile renames them. */
function visibleNames(
  { source, context: { view } }: { readonly source: UpstreamSource; readonly context: Pick<EnvelopeContext, "view"> },
  kind: ListedKind,
): ReadonlySet<string> {
  const isFromSource = (definitions: readonly unknown[]) => {
    const own = new Set(definitions);
    return (definition: unknown) => own.has(definition);
  };
  switch (kind) {
    case "tools":
      return new Set(
        view.tools
          .map(({ target }) => target)
          .filter(isFromSource(source.tools))
          .map(({ name }) => name),
      );
    case "prompts":
      return new Set(
        view.prompts
          .map(({ target }) => target)
          .filter(isFromSource(source.prompts))
          .map(({ name }) => name),
      );
    case "resources":
      return new Set(view.resources.filter(isFromSource(source.resources)).map(({ uri }) => uri));
    case "resourceTemplates":
      return new Set(view.templates.filter(isFromSource(source.templates)).map(({ wire }) => wire.uriTemplate));
  }
}

function forwardUnchanged({ upstreamTarget, call, context: { requestScope } }: MethodContext): Promise<CallOutcome> {
  return forwardCall(
    upstreamTarget,
    { method: call.method, params: call.params, repeatable: true },
    call,
    requestScope,
  );
}

/**
 * Under `trust: review`, the upstream's instructions wait for approval like its definitions. Otherwise flagged
 * instructions are left out, as on `/mcp`.
 */
async function discoverUpstream(at: MethodContext): Promise<CallOutcome> {
  const outcome = await forwardUnchanged(at);
  if (outcome.kind !== "complete") return outcome;
  const { result } = outcome;
  const value = result instanceof SerializedResult ? (JSON.parse(result.json) as JsonObject) : result;
  const { instructions: own, ...rest } = value;
  const reviewed = reviewedCatalogOf(at);
  if (!reviewed && flagsOf(own).length === 0) {
    // With a duplicate member, the client could read another value than the one that was checked.
    const isClear = !(result instanceof SerializedResult) || !hasDuplicateMembers(result.json, JSON.stringify(value));
    return isClear ? outcome : { ...outcome, result: value };
  }
  const { instructions } = reviewed ?? {};
  return { ...outcome, result: { ...rest, ...(instructions === undefined ? {} : { instructions }) } };
}

/** The catalog of approved definitions under `trust: review`, else undefined. */
function reviewedCatalogOf({ source: { catalog } }: MethodContext): UpstreamCatalog | undefined {
  return catalog?.waiting === undefined ? undefined : catalog;
}

/** Lists what the upstream lists now. Flagged definitions are marked, as on `/mcp`. */
async function listUpstreamDefinitions(at: MethodContext, kind: ListedKind): Promise<CallOutcome> {
  const reviewed = reviewedCatalogOf(at);
  const toItems = createItemFilter(at, kind);
  // Under review, the approved catalog is listed without asking the upstream, whose list may have changed since.
  if (reviewed) {
    const json = `{"${kind}":[${reviewed.texts[kind].flatMap(toItems).join()}]}`;
    return { kind: "complete", result: JSON.parse(json) as JsonObject, cache: at.context.view.cache };
  }
  const outcome = await forwardUnchanged(at);
  if (outcome.kind !== "complete") return outcome;
  const { result } = outcome;
  const isSerialized = result instanceof SerializedResult;
  const json = filterListText(isSerialized ? result.json : JSON.stringify(result), kind, toItems);
  return { ...outcome, result: isSerialized ? new SerializedResult(json, true) : (JSON.parse(json) as JsonObject) };
}

/** Maps an item to nothing if the view hides it, or if readers could parse it differently. */
function createItemFilter(at: MethodContext, kind: ListedKind): (item: string) => string[] {
  const visible = visibleNames(at, kind);
  const { catalog } = at.source;
  const flagsAt = createFlagLookup(catalog?.texts[kind] ?? [], catalog?.flagged?.[kind]);
  return (item) => {
    const wire: unknown = JSON.parse(item);
    if (!isObject(wire) || !visible.has(keyOf(wire, kind, at.upstreamTarget.id))) return [];
    const flags = flagsAt(item, wire);
    return flags === undefined ? [] : [flags.length === 0 ? item : addFlagsToText(item, flags)];
  };
}

/** The item's name as in the set of `visibleNames`. */
function keyOf(item: JsonObject, kind: ListedKind, id: string): string {
  const own = String(item[KEY_OF[kind]]);
  if (KEY_OF[kind] === "name") return policyName(id, own);
  const listed = toListedUri(id, own);
  const parsed = kind === "resources" ? parseUri(listed) : { uri: listed };
  return "uri" in parsed ? parsed.uri : listed;
}

const MAX_ITEMS = 100_000;

/** The same JSON text with each item replaced by `toItems`. */
function filterListText(json: string, kind: ListedKind, toItems: (item: string) => string[]): string {
  const members = objectMembers(json, MAX_ITEMS) ?? [];
  let isUnchanged = members.length > 0;
  const parts = members.map(({ name, text }) => {
    if (name !== kind) return `${JSON.stringify(name)}:${text}`;
    const all = arrayElements(text, MAX_ITEMS) ?? [];
    const items = all.flatMap(toItems);
    isUnchanged &&= all.length > 0 && items.length === all.length && items.every((item, place) => item === all[place]);
    return `${JSON.stringify(name)}:[${items.join()}]`;
  });
  return isUnchanged ? json : `{${parts.join()}}`;
}

async function callUpstreamTool(at: MethodContext): Promise<CallOutcome> {
  const { call, context, upstreamTarget } = at;
  const name = readString(call.params, "name");
  if (isFailure(name)) return name;
  const args = readObject(call, "arguments");
  if (isFailure(args)) return args;
  const target = policyName(upstreamTarget.id, name);
  const listedTool =
    visibleNames(at, "tools").has(target) && context.view.tools.find((tool) => tool.target.name === target);
  const tool = listedTool ? context.handlers.tool(listedTool.wire.name) : undefined;
  if (!listedTool || !tool) return failure("invalidParams", `Unknown tool: ${name}`);
  if (isFailure(tool)) return tool;
  const outcome = withOwnUris(at, await tool.call(args.value, withName(call, listedTool.wire.name)));
  return outcome.kind === "invalidArguments" ? toolError("Invalid arguments") : outcome;
}

async function getUpstreamPrompt(at: MethodContext): Promise<CallOutcome> {
  const { call, context, upstreamTarget } = at;
  const name = readString(call.params, "name");
  if (isFailure(name)) return name;
  const args = readStrings(call, "arguments");
  if (isFailure(args)) return args;
  const target = policyName(upstreamTarget.id, name);
  const listedPrompt =
    visibleNames(at, "prompts").has(target) && context.view.prompts.find((prompt) => prompt.target.name === target);
  const prompt = listedPrompt ? context.handlers.prompt(listedPrompt.wire.name) : undefined;
  if (!listedPrompt || !prompt) return failure("invalidParams", `Unknown prompt: ${name}`);
  return isFailure(prompt)
    ? prompt
    : withOwnUris(at, await prompt.get(args.value, withName(call, listedPrompt.wire.name)));
}

/** `recheck` looks up a call by its listed name. */
function withName(call: McpRequest, name: string): McpRequest {
  return { ...call, params: { ...call.params, name } };
}

/** Restores the upstream's own UI URIs, because this endpoint does not rename anything. */
function withOwnUris<T extends ToolOutcome>({ upstreamTarget: { id } }: MethodContext, outcome: T): T {
  if (outcome.kind !== "complete") return outcome;
  const { result } = outcome;
  const json = result instanceof SerializedResult ? result.json : JSON.stringify(result);
  const ownJson = renameResultUris(json, (uri) => toOwnUri(id, uri));
  if (ownJson === json) return outcome;
  return {
    ...outcome,
    result: result instanceof SerializedResult ? new SerializedResult(ownJson, result.isFinal) : JSON.parse(ownJson),
  };
}

async function readUpstreamResource(at: MethodContext): Promise<CallOutcome> {
  const { handlers, requestScope, view } = at.context;
  const uri = String(at.call.params.uri);
  if (view.resultBudget && requestScope.results?.isOverflow(uri))
    return handlers.readResource({ uri, asked: uri }, at.call);
  return withOwnUris(at, await readListed(at));
}

async function readListed({
  source,
  upstreamTarget,
  call,
  context: { view, requestScope },
}: MethodContext): Promise<CallOutcome> {
  const ownUri = readString(call.params, "uri");
  if (isFailure(ownUri)) return ownUri;
  const listedUri = toListedUri(upstreamTarget.id, ownUri);
  const parsed = parseUri(listedUri);
  if ("broken" in parsed) return failure("invalidParams", `Invalid params: uri: ${parsed.broken}`, { uri: ownUri });
  const { uri } = parsed;
  const notFound = failure("resourceNotFound", undefined, { uri: ownUri });
  if (!view.sees(uri)) return notFound;
  const run = async () =>
    (await readVisibleResource({ source, call, requestScope, view }, { uri, asked: listedUri })) ?? notFound;
  return applyAround({ name: uri, call, requestScope, repeatable: true }, run);
}

type VisibleResourceContext = Pick<MethodContext, "source" | "call"> & Pick<EnvelopeContext, "view" | "requestScope">;

/** Returns undefined if there is no such resource. */
async function readVisibleResource(
  { source, call, requestScope, view }: VisibleResourceContext,
  { uri, asked }: ResourceRef,
): Promise<CallOutcome | undefined> {
  const hookRefusal = await runBeforeCall(uri, call, requestScope);
  if (hookRefusal !== undefined) return failure("refused", hookRefusal);
  // `recheck` looks up a call by its listed URI.
  const listedCall = { ...call, params: { ...call.params, uri } };
  const rejection = await requestScope.recheck(listedCall);
  if (rejection) return rejection;
  const resource = source.resources.find((one) => one.uri === uri);
  if (resource) return resource.read({ uri, asked }, listedCall, requestScope);
  const further = await source.shelf?.read({ uri, asked }, listedCall, requestScope);
  if (further) return further;
  for (const template of source.templates.filter((one) => view.templates.includes(one))) {
    const outcome = await template.read({ uri, asked }, listedCall, requestScope);
    if (outcome) return outcome;
  }
  return undefined;
}

async function completeAtUpstream(at: MethodContext): Promise<CallOutcome> {
  const { call, upstreamTarget } = at;
  const completion = parseCompletion(call);
  if (isFailure(completion)) return completion;
  const { ref, query } = completion;
  const { name, value, known } = query;
  const isVisible =
    ref.type === "prompt"
      ? visibleNames(at, "prompts").has(policyName(upstreamTarget.id, ref.name))
      : visibleNames(at, "resourceTemplates").has(toListedUri(upstreamTarget.id, ref.uri));
  if (!isVisible) return invalid("ref", "must name a prompt or resource template of this upstream");
  const context = call.params.context === undefined ? {} : { context: { arguments: known } };
  return forwardUnchanged({
    ...at,
    call: { ...call, params: { ...call.params, argument: { name, value }, ...context } },
  });
}
