// Serves an upstream's catalog as a source, under names that begin with its id. A catalog of another configuration
// under the same id is not listed.

import { runAfterCall } from "../handlers/run-handler-call.ts";
import type { CallEnd, RequestScope } from "../handlers/request-scope.ts";
import { getMembers } from "../mcp-client/json-text.ts";
import type { SectionedTenant } from "../deployment/deployment.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { collectParamHeaders } from "../protocol/headers.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { SerializedResult, type CallOutcome } from "../protocol/call-outcome.ts";
import type {
  CompletionQuery,
  SourcePrompt,
  SourceResource,
  SourceTemplate,
  SourceTool,
  PagedResources,
  Source,
  SourceState,
  HiddenItem,
} from "../protocol/source.ts";
import { parseUriTemplate } from "../protocol/uri-template.ts";
import type { Section } from "../tenants/cache/section-cache.ts";
import { isText, KEY_OF, arrayOf, NAME_KEY, previousNames, objectWith } from "./upstream-definition.ts";
import { forwardCall } from "./forward-call.ts";
import type { UpstreamTarget, ForwardRequest } from "./upstream-call.ts";
import { serviceGrantError, type Services } from "./guard/service-binding.ts";
import { listedName, policyName, splitName } from "./listed-name.ts";
import { catalogSection, failureSection, type FailureNote } from "./refresh-entrypoint.ts";
import { isForApps, isUiUri, toListedUri, toOwnUri, renameResultUris, renameToolUi } from "./uris/ui-uris.ts";
import { belongsToOther, normalizeListedUri, prefixOf, uriPrefixes, type UriPrefix } from "./uris/uri-owners.ts";
import { createReason } from "./read-failure.ts";
import {
  causesOfGaps,
  describeGaps,
  parseSection,
  type Quarantined,
  type ParsedSection,
  type ParsedTool,
  type UpstreamCatalog,
} from "./upstream-catalog.ts";
import { configHashOf, enabledUpstreams, type NamedUpstream } from "./upstream-config.ts";

export interface UpstreamSource extends Source<RequestScope> {
  readonly upstream: NamedUpstream;
  /** undefined if the upstream has never been read. */
  readonly upstreamTarget: UpstreamTarget | undefined;
  readonly catalog?: UpstreamCatalog;
}

export function createUpstreamSources(context: SectionedTenant, services: Services = {}): readonly UpstreamSource[] {
  return enabledUpstreams(context.document).map((one) => createUpstreamSource(one, context, services));
}

/** Affects only this upstream, so the tenant's other upstreams are served. */
const UNUSABLE = createReason("catalog-unusable", "the stored catalog cannot be used");
const NOT_READ = createReason("not-read-yet", "the upstream has not been read yet");

function createUpstreamSource(
  named: NamedUpstream,
  { sections, server, document }: SectionedTenant,
  services: Services,
): UpstreamSource {
  const { id, upstream } = named;
  const prefixes = uriPrefixes(document);
  const configHash = configHashOf(upstream);
  const { read, note } = loadCatalog(named, { sections, document, configHash });
  const ownUris = read && excludeTakenUris(read.wires, { id, prefixes });
  const quarantined = ownUris ? [...ownUris.taken, ...read.catalog.quarantined] : [];
  const state = upstreamState(read && { ...read.catalog, quarantined }, note);
  const detail = note?.detail;
  const base = { id, state, ...(detail !== undefined && { detail }), prefix: `${id}__`, upstream: named };
  if (!ownUris) return { ...base, upstreamTarget: undefined, tools: [], prompts: [], resources: [], templates: [] };
  const { catalog, wires } = read;
  const hasUiResources = hasUi(catalog);
  const readsUnlisted = createUnlistedUriCheck(named, catalog, hasUiResources);
  const { way: transport, revision, logging = false, completes } = catalog;
  const catalogFacts = { transport, revision, logging, completes, isFailing: note !== undefined };
  const upstreamTarget: UpstreamTarget = { id, document: upstream, configHash, server, services, ...catalogFacts };
  return {
    ...base,
    upstreamTarget,
    catalog,
    ...(catalog.cache === undefined ? {} : { cache: catalog.cache }),
    ...(catalog.instructions === undefined ? {} : { instructions: indented(catalog.instructions) }),
    withheld: () => quarantined.map((one) => toHiddenItem(id, one)),
    lacks: createUnavailableCheck(id, catalog, quarantined),
    tools: wires.tools.map((tool) => createSourceTool(upstreamTarget, tool, hasUiResources)),
    prompts: wires.prompts.map((wire) => createSourcePrompt(upstreamTarget, wire)),
    resources: ownUris.resources.map((wire) => createSourceResource(upstreamTarget, wire)),
    templates: ownUris.resourceTemplates.map((wire) => createSourceTemplate(upstreamTarget, wire, prefixes)),
    ...(readsUnlisted && { shelf: createUnlistedResources(upstreamTarget, (uri) => readsUnlisted(uri, prefixes)) }),
  };
}

/**
 * A view prints the instructions after the upstream's id. Indented lines cannot pass for another upstream's or the
 * tenant's.
 */
function indented(instructions: string): string {
  return instructions.replaceAll(/\r\n?|\n/g, "\n  ");
}

/** The last catalog and the note about a failed refresh. A service that is not granted has no catalog. */
function loadCatalog(
  { id, upstream }: NamedUpstream,
  { sections, document, configHash }: Pick<SectionedTenant, "sections" | "document"> & { readonly configHash: string },
): {
  readonly read?: ParsedSection | undefined;
  readonly note: FailureNote | undefined;
} {
  const why = serviceGrantError(document, upstream);
  if (why !== undefined) return { note: { of: configHash, since: 0, ...createReason("service-missing", why) } };
  const section = sections.get(catalogSection(id));
  const read = section && parseSection(section, configHash);
  if (read === "broken") return { note: { of: configHash, since: 0, ...UNUSABLE } };
  return { read, note: parseFailureNote(sections.get(failureSection(id)), configHash) };
}

/** Describes gaps to a reader who may not see the whole catalog. */
function createUnavailableCheck(
  id: string,
  catalog: UpstreamCatalog,
  allQuarantined: readonly Quarantined[],
): NonNullable<UpstreamSource["lacks"]> {
  const { capped } = catalog;
  return (isVisible, isWhole) => {
    const quarantined = allQuarantined.filter((one) => one.kind === "instructions" || isVisible(toHiddenItem(id, one)));
    return describeGaps({ ...(isWhole ? catalog : { unnamed: 0, ...(capped && { capped }) }), quarantined });
  };
}

type WithUris = Pick<ParsedSection["wires"], "resources" | "resourceTemplates">;

/** Removes URIs under a prefix of another upstream, and returns them in `taken`. */
function excludeTakenUris(
  wires: WithUris,
  { id, prefixes }: { readonly id: string; readonly prefixes: readonly UriPrefix[] },
): WithUris & { readonly taken: readonly Quarantined[] } {
  const taken: Quarantined[] = [];
  const keepOwn = (kind: keyof WithUris) =>
    wires[kind].filter((wire) => {
      const own = String(wire[KEY_OF[kind]]);
      const [prefix, owner = id] = prefixOf(prefixes, normalizeListedUri(kind, own)) ?? [];
      if (owner === id) return true;
      taken.push({ kind, name: own.slice(0, 128), why: `${owner} has the prefix ${prefix}`, code: "uri-prefix" });
      return false;
    });
  return prefixes.length === 0
    ? { ...wires, taken }
    : { resources: keepOwn("resources"), resourceTemplates: keepOwn("resourceTemplates"), taken };
}

/** Returns which unlisted URIs this upstream may be asked for, or undefined if there are none. */
function createUnlistedUriCheck(
  { id, upstream: { uris = [] } }: NamedUpstream,
  catalog: UpstreamCatalog,
  hasUiResources: boolean,
): ((uri: string, prefixes: readonly UriPrefix[]) => boolean) | undefined {
  // Resources that wait for approval must not be readable in this way.
  if (catalog.waiting !== undefined) return undefined;
  if (uris.length === 0 && !hasUiResources) return undefined;
  return (uri, prefixes) =>
    isUiUri(uri) ? hasUiResources && toOwnUri(id, uri) !== uri : prefixOf(prefixes, uri)?.[1] === id;
}

function hasUi({ texts }: UpstreamCatalog): boolean {
  return [...texts.tools, ...texts.resources, ...texts.resourceTemplates].some((text) => /ui:/i.test(text));
}

/** Resources that can be read but are not in any list, so `list` is empty. */
function createUnlistedResources(
  upstream: UpstreamTarget,
  reads: (uri: string) => boolean,
): PagedResources<RequestScope> {
  return {
    list: async () => ({ items: [] }),
    read: async ({ uri, asked: requestedUri }, call, requestScope) =>
      reads(uri)
        ? readUri(upstream, { uri: toOwnUri(upstream.id, requestedUri), name: uri }, call, requestScope)
        : undefined,
  };
}

export function upstreamState(catalog: UpstreamCatalog | undefined, note: FailureNote | undefined): SourceState {
  const { why, causes = [] } = note ?? NOT_READ;
  if (!catalog) return { kind: "unread", why, causes };
  if (note) return { kind: "lastGood", since: note.since, why, causes };
  const lack = describeGaps(catalog);
  return lack === undefined ? { kind: "fresh" } : { kind: "degraded", why: lack, causes: causesOfGaps(catalog) };
}

const isCause = objectWith({ code: isText, name: isText }, "code");
const isNote = objectWith({ since: Number.isFinite, why: isText, causes: arrayOf(isCause) }, "since");

export function parseFailureNote(section: Section | undefined, configHash: string): FailureNote | undefined {
  try {
    const note = JSON.parse(new TextDecoder().decode(section?.bytes)) as FailureNote;
    const isMine = isNote(note) && note.of === configHash && isText(note.why);
    return isMine && (note.detail === undefined || isText(note.detail)) ? note : undefined;
  } catch {
    return undefined;
  }
}

/** A hidden definition, under its policy name. */
function toHiddenItem(id: string, { kind, name, why }: Quarantined): HiddenItem {
  if (kind === "tools" || kind === "prompts") return { kind, name: policyName(id, name), why };
  return { kind: "resources", name, why };
}

function withOwnName(wire: JsonObject, own: string): JsonObject {
  const behind = previousNames(wire);
  const meta = isObject(wire._meta) ? wire._meta : {};
  return { ...wire, _meta: { ...meta, [NAME_KEY]: behind.length === 0 ? own : [own, ...behind] } };
}

function toListedDefinition(
  id: string,
  plain: JsonObject,
): Pick<SourceTool<RequestScope>, "name" | "listedName" | "wire"> {
  const own = String(plain.name);
  const wire = withOwnName(
    renameToolUi(plain, (uri) => toListedUri(id, uri)),
    own,
  );
  const name = policyName(id, own);
  const listed = listedName(id, own);
  if (listed === name) return { name, wire: { ...wire, name } };
  return { name, listedName: listed, wire: { ...wire, name: listed } };
}

/** `hasUiResources`: the upstream has user interfaces, which call its tools by their own names. */
function createSourceTool(
  upstream: UpstreamTarget,
  { wire, texts }: ParsedTool,
  hasUiResources: boolean,
): SourceTool<RequestScope> {
  const own = String(wire.name);
  const named = toListedDefinition(upstream.id, wire);
  const paramHeaderResult = collectParamHeaders(wire.inputSchema as JsonObject);
  const paramHeaders = "broken" in paramHeaderResult ? [] : paramHeaderResult;
  const { readOnlyHint, idempotentHint } = isObject(wire.annotations) ? wire.annotations : {};
  const repeatable = readOnlyHint === true || idempotentHint === true;
  return {
    ...named,
    texts,
    paramHeaders,
    repeatable,
    // A name like `ID__name` belongs to the upstream with that id, even if that upstream is unavailable or hidden.
    ...(hasUiResources && isForApps(wire) && !splitName(own) && { ownName: own }),
    call: (_args, call, requestScope) => {
      const params = { ...call.params, name: own };
      return forwardWithHook(upstream, { method: "tools/call", params, paramHeaders: paramHeaders, repeatable }, call, {
        requestScope,
        name: named.name,
      });
    },
  };
}

function createSourcePrompt(upstream: UpstreamTarget, wire: JsonObject): SourcePrompt<RequestScope> {
  const own = String(wire.name);
  const named = toListedDefinition(upstream.id, wire);
  return {
    ...named,
    get: async (args, call, requestScope) => {
      const promptArguments = call.params.arguments === undefined ? {} : { arguments: args };
      const params = { ...call.params, name: own, ...promptArguments };
      return forwardWithHook(upstream, { method: "prompts/get", params, repeatable: true }, call, {
        requestScope,
        name: named.name,
      });
    },
    complete: async (value, call, requestScope) =>
      forwardCompletion(upstream, { type: "ref/prompt", name: own }, value, { call, requestScope }),
  };
}

function createSourceResource(upstream: UpstreamTarget, wire: JsonObject): SourceResource<RequestScope> {
  const own = String(wire.uri);
  const listed = toListedUri(upstream.id, own);
  const uri = normalizeListedUri("resources", listed);
  return {
    uri,
    wire: { ...(listed === own ? wire : withOwnName(wire, own)), uri: listed },
    read: async (_asked, call, requestScope) => readUri(upstream, { uri: own, name: uri }, call, requestScope),
  };
}

function createSourceTemplate(
  upstream: UpstreamTarget,
  wire: JsonObject,
  prefixes: readonly UriPrefix[],
): SourceTemplate<RequestScope> {
  const own = String(wire.uriTemplate);
  const uriTemplate = toListedUri(upstream.id, own);
  const template = parseUriTemplate(uriTemplate);
  return {
    wire: { ...(uriTemplate === own ? wire : withOwnName(wire, own)), uriTemplate },
    read: async ({ uri, asked: requestedUri }, call, requestScope) => {
      // A template may match anything. A URI that belongs to another upstream stays there, even if that upstream is
      // unavailable.
      if ("broken" in template || belongsToOther(prefixes, upstream.id, uri)) return undefined;
      if (template.match(uri) === undefined) return undefined;
      return readUri(upstream, { uri: toOwnUri(upstream.id, requestedUri), name: uri }, call, requestScope);
    },
    complete: async (value, call, requestScope) =>
      forwardCompletion(upstream, { type: "ref/resource", uri: own }, value, { call, requestScope }),
  };
}

function readUri(
  upstream: UpstreamTarget,
  { uri, name }: { readonly uri: string; readonly name: string },
  call: McpRequest,
  requestScope: RequestScope,
): Promise<CallOutcome> {
  const forwarded = { method: "resources/read", params: { ...call.params, uri }, repeatable: true };
  return forwardWithHook(upstream, forwarded, call, { requestScope, name });
}

/** The gateway declares completion, so an upstream without it returns an empty list instead of an error. */
async function forwardCompletion(
  upstream: UpstreamTarget,
  ref: JsonObject,
  { name, value, known }: CompletionQuery,
  { call, requestScope }: { readonly call: McpRequest; readonly requestScope: RequestScope },
): Promise<readonly string[] | CallOutcome> {
  if (upstream.completes === false) return [];
  const context = call.params.context === undefined ? {} : { context: { arguments: known } };
  const params = { ...call.params, ref, argument: { name, value }, ...context };
  return forwardCall(upstream, { method: "completion/complete", params, repeatable: true }, call, requestScope);
}

/** As `forwardCall`, and runs the author's `afterCall` hook. */
function forwardWithHook(
  upstream: UpstreamTarget,
  forwarded: ForwardRequest,
  call: McpRequest,
  { requestScope, name }: { readonly requestScope: RequestScope; readonly name: string },
): Promise<CallOutcome> {
  const renameUris = (json: string) => renameResultUris(json, (uri) => toListedUri(upstream.id, uri));
  const response = forwardCall(upstream, { ...forwarded, transformResult: renameUris }, call, requestScope);
  if (!requestScope.hooks.afterCall) return response;
  return response.then((outcome) => {
    runAfterCall(name, call, requestScope, endOf(outcome));
    return outcome;
  });
}

function endOf(outcome: CallOutcome): CallEnd {
  if (outcome.kind === "failure") {
    return outcome.error === "timeout" || outcome.error === "cancelled" ? outcome.error : "error";
  }
  if (outcome.kind === "inputRequired") return "input_required";
  const { result } = outcome;
  if (!(result instanceof SerializedResult)) return result.isError === true ? "error" : "complete";
  const members = getMembers(new Set(["resultType", "isError"]), result.json);
  if (members?.get("resultType") === '"input_required"') return "input_required";
  return members?.get("isError") === "true" ? "error" : "complete";
}
