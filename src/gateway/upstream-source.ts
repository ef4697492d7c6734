// Owns an upstream as a source: what its catalog lists, under names that begin with its id, and how each is asked for.
// Refuses to list what another configuration of the same id has left behind.

import { reportEnd } from "../calls/handle.ts";
import type { CallEnd, CallHost } from "../calls/call-host.ts";
import { membersNamed } from "../mcp-client/json-text.ts";
import type { SectionedTenant } from "../deployment/deployment.ts";
import type { Call } from "../protocol/call.ts";
import { collectParamHeaders } from "../protocol/headers.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { Encoded, type CallOutcome } from "../protocol/outcome.ts";
import type {
  AskedValue,
  ServedPrompt,
  ServedResource,
  ServedTemplate,
  ServedTool,
  Shelf,
  Source,
  SourceState,
  Withheld,
} from "../protocol/source.ts";
import { parseUriTemplate } from "../protocol/uri-template.ts";
import type { Section } from "../tenants/isolate/sections.ts";
import { isText, KEY_OF, listOf, NAME_KEY, namesBehind, shaped } from "./check-definition.ts";
import { forwardCall } from "./forward-call.ts";
import type { CalledUpstream, Forwarded } from "./sent-call.ts";
import { ungranted, type Services } from "./guard/service-binding.ts";
import { listedName, policyName, splitName } from "./listed-name.ts";
import { catalogSection, failingSection, type FailingNote } from "./refresh-entrypoint.ts";
import { isForApps, isUi, listedUi, ownUi, renameUi, withUi } from "./uris/ui-uris.ts";
import { isAnothers, normalOf, prefixOf, uriPrefixes, type UriPrefix } from "./uris/uri-owners.ts";
import { reasonFor } from "./unread-reason.ts";
import {
  causesOfLack,
  lackOf,
  readSection,
  type Quarantined,
  type ReadSection,
  type ReadTool,
  type UpstreamCatalog,
} from "./upstream-catalog.ts";
import { configOf, enabledUpstreams, type NamedUpstream } from "./upstream-config.ts";

/** A source that is an upstream. */
export interface UpstreamSource extends Source<CallHost> {
  readonly upstream: NamedUpstream;
  /** undefined: nobody has read yet what it lists. */
  readonly called: CalledUpstream | undefined;
  /** What is listed of it, as its authority has it. */
  readonly catalog?: UpstreamCatalog;
}

export function upstreamSources(ground: SectionedTenant, services: Services = {}): readonly UpstreamSource[] {
  return enabledUpstreams(ground.document).map((one) => upstreamSource(one, ground, services));
}

/** What stands for its catalog is none: of one upstream, so the tenant's others are served. */
const BROKEN = reasonFor("catalog-unusable", "what was read of it cannot be used");
const NOT_YET = reasonFor("not-read-yet", "it has not been read yet");

function upstreamSource(
  named: NamedUpstream,
  { sections, server, document }: SectionedTenant,
  services: Services,
): UpstreamSource {
  const { id, upstream } = named;
  const prefixes = uriPrefixes(document);
  const config = configOf(upstream);
  const { read, note } = heldOf(named, { sections, document, config });
  const mine = read && notTaken(read.wires, { id, prefixes });
  const quarantined = mine ? [...mine.taken, ...read.catalog.quarantined] : [];
  const state = upstreamState(read && { ...read.catalog, quarantined }, note);
  const detail = note?.detail;
  const about = { id, state, ...(detail !== undefined && { detail }), prefix: `${id}__`, upstream: named };
  if (!mine) return { ...about, called: undefined, tools: [], prompts: [], resources: [], templates: [] };
  const { catalog, wires } = read;
  const showsUi = hasUi(catalog);
  const reads = readsFurther(named, catalog, showsUi);
  const { way, revision, logging = false, completes } = catalog;
  const asRead = { way, revision, logging, completes, isFailing: note !== undefined };
  const called: CalledUpstream = { id, upstream, config, server, services, ...asRead };
  return {
    ...about,
    called,
    catalog,
    ...(catalog.cache === undefined ? {} : { cache: catalog.cache }),
    ...(catalog.instructions === undefined ? {} : { instructions: indented(catalog.instructions) }),
    withheld: () => quarantined.map((one) => withheldAs(id, one)),
    lacks: lacksOf(id, catalog, quarantined),
    tools: wires.tools.map((tool) => servedTool(called, tool, showsUi)),
    prompts: wires.prompts.map((wire) => servedPrompt(called, wire)),
    resources: mine.resources.map((wire) => servedResource(called, wire)),
    templates: mine.resourceTemplates.map((wire) => servedTemplate(called, wire, prefixes)),
    ...(reads && { shelf: shelfOf(called, (uri) => reads(uri, prefixes)) }),
  };
}

/** A view says it after the id: no line of it may look as if another upstream, or the tenant, had said it. */
function indented(instructions: string): string {
  return instructions.replaceAll(/\r\n?|\n/g, "\n  ");
}

/** What was read of it, and why it could not be read again. Of a service that is not granted: nothing. */
function heldOf(
  { id, upstream }: NamedUpstream,
  { sections, document, config }: Pick<SectionedTenant, "sections" | "document"> & { readonly config: string },
): {
  readonly read?: ReadSection | undefined;
  readonly note: FailingNote | undefined;
} {
  const why = ungranted(document, upstream);
  if (why !== undefined) return { note: { of: config, since: 0, ...reasonFor("service-missing", why) } };
  const section = sections.get(catalogSection(id));
  const read = section && readSection(section, config);
  if (read === "broken") return { note: { of: config, since: 0, ...BROKEN } };
  return { read, note: noteIn(sections.get(failingSection(id)), config) };
}

/** What is said of a catalog to who may not see all that it has. */
function lacksOf(
  id: string,
  catalog: UpstreamCatalog,
  left: readonly Quarantined[],
): NonNullable<UpstreamSource["lacks"]> {
  const { capped } = catalog;
  return (sees, isWhole) => {
    const quarantined = left.filter((one) => one.kind === "instructions" || sees(withheldAs(id, one)));
    return lackOf({ ...(isWhole ? catalog : { unnamed: 0, ...(capped && { capped }) }), quarantined });
  };
}

type WithUris = Pick<ReadSection["wires"], "resources" | "resourceTemplates">;

/** Leaves out (as `taken`) what begins with one of the `uris` of another upstream. */
function notTaken(
  wires: WithUris,
  { id, prefixes }: { readonly id: string; readonly prefixes: readonly UriPrefix[] },
): WithUris & { readonly taken: readonly Quarantined[] } {
  const taken: Quarantined[] = [];
  const mine = (kind: keyof WithUris) =>
    wires[kind].filter((wire) => {
      const own = String(wire[KEY_OF[kind]]);
      const [prefix, owner = id] = prefixOf(prefixes, normalOf(kind, own)) ?? [];
      if (owner === id) return true;
      taken.push({ kind, name: own.slice(0, 128), why: `${owner} has what begins with ${prefix}`, code: "uri-prefix" });
      return false;
    });
  return prefixes.length === 0
    ? { ...wires, taken }
    : { resources: mine("resources"), resourceTemplates: mine("resourceTemplates"), taken };
}

type Reads = (uri: string, prefixes: readonly UriPrefix[]) => boolean;

/** Tells which URIs this upstream is asked for although it does not list them; undefined where there are none. */
function readsFurther(
  { id, upstream: { uris = [] } }: NamedUpstream,
  catalog: UpstreamCatalog,
  readsUi: boolean,
): Reads | undefined {
  // What waits for approval must not be read in a roundabout way.
  if (catalog.waiting !== undefined) return undefined;
  if (uris.length === 0 && !readsUi) return undefined;
  return (uri, prefixes) => (isUi(uri) ? readsUi && ownUi(id, uri) !== uri : prefixOf(prefixes, uri)?.[1] === id);
}

function hasUi({ texts }: UpstreamCatalog): boolean {
  return [...texts.tools, ...texts.resources, ...texts.resourceTemplates].some((text) => /ui:/i.test(text));
}

/** For URIs that can be read but are in no list: so its own list is empty. */
function shelfOf(upstream: CalledUpstream, reads: (uri: string) => boolean): Shelf<CallHost> {
  return {
    list: async () => ({ items: [] }),
    read: async ({ uri, asked: shown }, call, host) =>
      reads(uri) ? readUri(upstream, { uri: ownUi(upstream.id, shown), name: uri }, call, host) : undefined,
  };
}

export function upstreamState(catalog: UpstreamCatalog | undefined, note: FailingNote | undefined): SourceState {
  const { why, causes = [] } = note ?? NOT_YET;
  if (!catalog) return { kind: "unread", why, causes };
  if (note) return { kind: "lastGood", since: note.since, why, causes };
  const lack = lackOf(catalog);
  return lack === undefined ? { kind: "fresh" } : { kind: "degraded", why: lack, causes: causesOfLack(catalog) };
}

const isCause = shaped({ code: isText, name: isText }, "code");
const isNote = shaped({ since: Number.isFinite, why: isText, causes: listOf(isCause) }, "since");

export function noteIn(section: Section | undefined, config: string): FailingNote | undefined {
  try {
    const note = JSON.parse(new TextDecoder().decode(section?.bytes)) as FailingNote;
    const isMine = isNote(note) && note.of === config && isText(note.why);
    return isMine && (note.detail === undefined || isText(note.detail)) ? note : undefined;
  } catch {
    return undefined;
  }
}

/** A definition that is left out, under the name that policy has for it. */
function withheldAs(id: string, { kind, name, why }: Quarantined): Withheld {
  if (kind === "tools" || kind === "prompts") return { kind, name: policyName(id, name), why };
  return { kind: "resources", name, why };
}

/** `_meta` with the name that its upstream gives it. */
function withOwnName(wire: JsonObject, own: string): JsonObject {
  const behind = namesBehind(wire);
  const meta = isObject(wire._meta) ? wire._meta : {};
  return { ...wire, _meta: { ...meta, [NAME_KEY]: behind.length === 0 ? own : [own, ...behind] } };
}

/** The definition under its names. */
function namedBy(id: string, plain: JsonObject): Pick<ServedTool<CallHost>, "name" | "listedName" | "wire"> {
  const own = String(plain.name);
  const wire = withOwnName(
    withUi(plain, (uri) => listedUi(id, uri)),
    own,
  );
  const name = policyName(id, own);
  const listed = listedName(id, own);
  if (listed === name) return { name, wire: { ...wire, name } };
  return { name, listedName: listed, wire: { ...wire, name: listed } };
}

/** `forApps`: the upstream has user interfaces, which know its tools by their own names. */
function servedTool(upstream: CalledUpstream, { wire, texts }: ReadTool, forApps: boolean): ServedTool<CallHost> {
  const own = String(wire.name);
  const named = namedBy(upstream.id, wire);
  const mirrored = collectParamHeaders(wire.inputSchema as JsonObject);
  const paramHeaders = "broken" in mirrored ? [] : mirrored;
  const { readOnlyHint, idempotentHint } = isObject(wire.annotations) ? wire.annotations : {};
  const repeatable = readOnlyHint === true || idempotentHint === true;
  return {
    ...named,
    texts,
    paramHeaders,
    repeatable,
    // A name of the form `ID__name` is one of the upstream with that id, also where that one is away or hidden.
    ...(forApps && isForApps(wire) && !splitName(own) && { ownName: own }),
    call: (_args, call, host) => {
      const params = { ...call.params, name: own };
      return asked(upstream, { method: "tools/call", params, mirrored: paramHeaders, repeatable }, call, {
        host,
        name: named.name,
      });
    },
  };
}

function servedPrompt(upstream: CalledUpstream, wire: JsonObject): ServedPrompt<CallHost> {
  const own = String(wire.name);
  const named = namedBy(upstream.id, wire);
  return {
    ...named,
    get: async (args, call, host) => {
      const given = call.params.arguments === undefined ? {} : { arguments: args };
      const params = { ...call.params, name: own, ...given };
      return asked(upstream, { method: "prompts/get", params, repeatable: true }, call, { host, name: named.name });
    },
    complete: async (value, call, host) =>
      completed(upstream, { type: "ref/prompt", name: own }, value, { call, host }),
  };
}

function servedResource(upstream: CalledUpstream, wire: JsonObject): ServedResource<CallHost> {
  const own = String(wire.uri);
  const listed = listedUi(upstream.id, own);
  const uri = normalOf("resources", listed);
  return {
    uri,
    wire: { ...(listed === own ? wire : withOwnName(wire, own)), uri: listed },
    read: async (_asked, call, host) => readUri(upstream, { uri: own, name: uri }, call, host),
  };
}

function servedTemplate(
  upstream: CalledUpstream,
  wire: JsonObject,
  prefixes: readonly UriPrefix[],
): ServedTemplate<CallHost> {
  const own = String(wire.uriTemplate);
  const uriTemplate = listedUi(upstream.id, own);
  const template = parseUriTemplate(uriTemplate);
  return {
    wire: { ...(uriTemplate === own ? wire : withOwnName(wire, own)), uriTemplate },
    read: async ({ uri, asked: shown }, call, host) => {
      // A template can be as wide as it likes: what another upstream has is that one's, though it be away.
      if ("broken" in template || isAnothers(prefixes, upstream.id, uri)) return undefined;
      if (template.match(uri) === undefined) return undefined;
      return readUri(upstream, { uri: ownUi(upstream.id, shown), name: uri }, call, host);
    },
    complete: async (value, call, host) =>
      completed(upstream, { type: "ref/resource", uri: own }, value, { call, host }),
  };
}

function readUri(
  upstream: CalledUpstream,
  { uri, name }: { readonly uri: string; readonly name: string },
  call: Call,
  host: CallHost,
): Promise<CallOutcome> {
  const forwarded = { method: "resources/read", params: { ...call.params, uri }, repeatable: true };
  return asked(upstream, forwarded, call, { host, name });
}

/** The gateway says that it completes; what one upstream does not is no error of its client. */
async function completed(
  upstream: CalledUpstream,
  ref: JsonObject,
  { name, value, known }: AskedValue,
  { call, host }: { readonly call: Call; readonly host: CallHost },
): Promise<readonly string[] | CallOutcome> {
  if (upstream.completes === false) return [];
  const context = call.params.context === undefined ? {} : { context: { arguments: known } };
  const params = { ...call.params, ref, argument: { name, value }, ...context };
  return forwardCall(upstream, { method: "completion/complete", params, repeatable: true }, call, host);
}

/** As `forwardCall`, and the author's hook hears how it ended. */
function asked(
  upstream: CalledUpstream,
  forwarded: Forwarded,
  call: Call,
  { host, name }: { readonly host: CallHost; readonly name: string },
): Promise<CallOutcome> {
  const renamed = (json: string) => renameUi(json, (uri) => listedUi(upstream.id, uri));
  const answering = forwardCall(upstream, { ...forwarded, named: renamed }, call, host);
  if (!host.hooks.afterCall) return answering;
  return answering.then((outcome) => {
    reportEnd(name, call, host, endOf(outcome));
    return outcome;
  });
}

function endOf(outcome: CallOutcome): CallEnd {
  if (outcome.kind === "failure") {
    return outcome.error === "timeout" || outcome.error === "cancelled" ? outcome.error : "error";
  }
  if (outcome.kind === "inputRequired") return "input_required";
  const { result } = outcome;
  if (!(result instanceof Encoded)) return result.isError === true ? "error" : "complete";
  const found = membersNamed(new Set(["resultType", "isError"]), result.json);
  if (found?.get("resultType") === '"input_required"') return "input_required";
  return found?.get("isError") === "true" ? "error" : "complete";
}
