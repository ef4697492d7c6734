// Owns a message that names its upstream beside itself, in `server_id`: it goes there as it is, and what comes back comes
// back as it is, apart from what the caller's view does not show. Refuses methods of which a view could not say that.

import { surrounded } from "../calls/around.ts";
import { beforeCall } from "../calls/handle.ts";
import type { Unwrapped, WrappedVisit } from "../deployment/deployment.ts";
import type { ListedKind } from "../protocol/definition.ts";
import { arrayElements, objectMembers, repeatsMembers } from "../mcp-client/json-text.ts";
import type { Call } from "../protocol/call.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { parseCompletion } from "../protocol/methods/completion.ts";
import { invalid, isFailure, readObject, readString, readStrings } from "../protocol/methods/params.ts";
import { toolError } from "../protocol/methods/tools.ts";
import { Encoded, type CallOutcome, type InvalidArguments } from "../protocol/outcome.ts";
import type { AskedUri } from "../protocol/source.ts";
import { parseUri } from "../protocol/uri.ts";
import { KEY_OF } from "./check-definition.ts";
import { forwardCall } from "./forward-call.ts";
import type { CalledUpstream } from "./sent-call.ts";
import { policyName } from "./listed-name.ts";
import { flaggedText, flagsIn, flagsOf } from "./review/definition-flags.ts";
import { listedUi, ownUi, renameUi } from "./uris/ui-uris.ts";
import type { UpstreamCatalog } from "./upstream-catalog.ts";
import type { UpstreamSource } from "./upstream-source.ts";

/** The code that `docs/founding-documents.md` demands for it, in both eras. */
const UNKNOWN_SERVER = -32001;

export function unwrapMessage(body: unknown): Unwrapped | Failure {
  if (!isObject(body)) return failure("invalidRequest", "Invalid Request: a message is a JSON object");
  const { server_id: server, ...message } = body;
  if (typeof server !== "string") return invalid("server_id", "must name an upstream of this tenant");
  return {
    message,
    counted: (view) => listedAs(server, message, view),
    answer: async (call, visit) => answerFrom(server, call, visit),
  };
}

function listedAs(server: string, message: JsonObject, { tools }: WrappedVisit["view"]): JsonObject {
  const { params } = message;
  if (!isObject(params) || typeof params.name !== "string") return message;
  const target = policyName(server, params.name);
  const listed = tools.find((tool) => tool.target.name === target);
  return { ...message, params: { ...params, name: listed?.wire.name ?? target } };
}

/** A call at one upstream. */
interface At {
  readonly source: UpstreamSource;
  readonly called: CalledUpstream;
  readonly call: Call;
  readonly visit: WrappedVisit;
}

type WrappedMethod = (at: At) => CallOutcome | Promise<CallOutcome>;

const METHODS: Readonly<Record<string, WrappedMethod>> = {
  "tools/list": (at) => list(at, "tools"),
  "prompts/list": (at) => list(at, "prompts"),
  "resources/list": (at) => list(at, "resources"),
  "resources/templates/list": (at) => list(at, "resourceTemplates"),
  "tools/call": callTool,
  "prompts/get": getPrompt,
  "resources/read": readResource,
  "completion/complete": complete,
  "server/discover": discover,
  "logging/setLevel": pass,
  ping: pass,
};

async function answerFrom(server: string, call: Call, visit: WrappedVisit): Promise<CallOutcome> {
  const { view } = visit;
  const source = view.shown.find((one): one is UpstreamSource => one.id === server && "upstream" in one);
  if (!source) {
    return { ...failure("foreign", `Server '${server}' not found`), code: UNKNOWN_SERVER };
  }
  const { called, state } = source;
  const method = Object.hasOwn(METHODS, call.method) ? METHODS[call.method] : undefined;
  if (!method) return failure("methodNotFound");
  if (called) return method({ source, called, call, visit });
  const why = state.kind === "fresh" ? "" : state.why;
  return failure("unreachableServer", undefined, { server, fault: "unread", why });
}

/** What the view shows of this upstream, by the names that its source has for them, before a profile renames any. */
function shownOf(
  { source, visit: { view } }: { readonly source: UpstreamSource; readonly visit: Pick<WrappedVisit, "view"> },
  kind: ListedKind,
): ReadonlySet<string> {
  const isOurs = (things: readonly unknown[]) => {
    const own = new Set(things);
    return (thing: unknown) => own.has(thing);
  };
  switch (kind) {
    case "tools":
      return new Set(
        view.tools
          .map(({ target }) => target)
          .filter(isOurs(source.tools))
          .map(({ name }) => name),
      );
    case "prompts":
      return new Set(
        view.prompts
          .map(({ target }) => target)
          .filter(isOurs(source.prompts))
          .map(({ name }) => name),
      );
    case "resources":
      return new Set(view.resources.filter(isOurs(source.resources)).map(({ uri }) => uri));
    case "resourceTemplates":
      return new Set(view.templates.filter(isOurs(source.templates)).map(({ wire }) => wire.uriTemplate));
  }
}

function pass({ called, call, visit: { host } }: At): Promise<CallOutcome> {
  return forwardCall(called, { method: call.method, params: call.params, repeatable: true }, call, host);
}

/**
 * Under `trust: review` the upstream's instructions to the model wait for approval like its definitions; else those that deserve
 * a second look are left out, as on `/mcp`.
 */
async function discover(at: At): Promise<CallOutcome> {
  const outcome = await pass(at);
  if (outcome.kind !== "complete") return outcome;
  const { result } = outcome;
  const said = result instanceof Encoded ? (JSON.parse(result.json) as JsonObject) : result;
  const { instructions: own, ...rest } = said;
  const reviewed = reviewedIn(at);
  if (!reviewed && flagsOf(own).length === 0) {
    // Of what stands there twice the first may be other words than those that were looked at.
    const isClear = !(result instanceof Encoded) || !repeatsMembers(result.json, JSON.stringify(said));
    return isClear ? outcome : { ...outcome, result: said };
  }
  const { instructions } = reviewed ?? {};
  return { ...outcome, result: { ...rest, ...(instructions === undefined ? {} : { instructions }) } };
}

/** Under `trust: review`, the catalog with what was approved; else undefined. */
function reviewedIn({ source: { catalog } }: At): UpstreamCatalog | undefined {
  return catalog?.waiting === undefined ? undefined : catalog;
}

/** As the upstream lists it now, and what deserves a second look says so, as on `/mcp`. */
async function list(at: At, kind: ListedKind): Promise<CallOutcome> {
  const reviewed = reviewedIn(at);
  const said = saidOf(at, kind);
  // What was approved is listed without asking the upstream: what it lists by now may differ.
  if (reviewed) {
    const json = `{"${kind}":[${reviewed.texts[kind].flatMap(said).join()}]}`;
    return { kind: "complete", result: JSON.parse(json) as JsonObject, cache: at.visit.view.cache };
  }
  const outcome = await pass(at);
  if (outcome.kind !== "complete") return outcome;
  const { result } = outcome;
  const isStamped = result instanceof Encoded;
  const json = listedText(isStamped ? result.json : JSON.stringify(result), kind, said);
  return { ...outcome, result: isStamped ? new Encoded(json, true) : (JSON.parse(json) as JsonObject) };
}

/** What is listed of a definition: nothing, where the view hides it, or readers may find different things in it. */
function saidOf(at: At, kind: ListedKind): (item: string) => string[] {
  const shown = shownOf(at, kind);
  const { catalog } = at.source;
  const flagsAt = flagsIn(catalog?.texts[kind] ?? [], catalog?.flagged?.[kind]);
  return (item) => {
    const wire: unknown = JSON.parse(item);
    if (!isObject(wire) || !shown.has(keyOf(wire, kind, at.called.id))) return [];
    const flags = flagsAt(item, wire);
    return flags === undefined ? [] : [flags.length === 0 ? item : flaggedText(item, flags)];
  };
}

/** The name of an item as it stands in the set of `shownOf`. */
function keyOf(item: JsonObject, kind: ListedKind, id: string): string {
  const own = String(item[KEY_OF[kind]]);
  if (KEY_OF[kind] === "name") return policyName(id, own);
  const listed = listedUi(id, own);
  const parsed = kind === "resources" ? parseUri(listed) : { uri: listed };
  return "uri" in parsed ? parsed.uri : listed;
}

const MOST = 100_000;

/** The same text, with what is said of each item in its place. */
function listedText(json: string, kind: ListedKind, said: (item: string) => string[]): string {
  const members = objectMembers(json, MOST) ?? [];
  let isWhole = members.length > 0;
  const kept = members.map(({ name, text }) => {
    if (name !== kind) return `${JSON.stringify(name)}:${text}`;
    const all = arrayElements(text, MOST) ?? [];
    const items = all.flatMap(said);
    isWhole &&= all.length > 0 && items.length === all.length && items.every((item, place) => item === all[place]);
    return `${JSON.stringify(name)}:[${items.join()}]`;
  });
  return isWhole ? json : `{${kept.join()}}`;
}

async function callTool(at: At): Promise<CallOutcome> {
  const { call, visit, called } = at;
  const name = readString(call.params, "name");
  if (isFailure(name)) return name;
  const args = readObject(call, "arguments");
  if (isFailure(args)) return args;
  const target = policyName(called.id, name);
  const listed = shownOf(at, "tools").has(target) && visit.view.tools.find((tool) => tool.target.name === target);
  const tool = listed ? visit.backend.tool(listed.wire.name) : undefined;
  if (!listed || !tool) return failure("invalidParams", `Unknown tool: ${name}`);
  if (isFailure(tool)) return tool;
  const outcome = asOwn(at, await tool.call(args.value, under(call, listed.wire.name)));
  return outcome.kind === "invalidArguments" ? toolError("Invalid arguments") : outcome;
}

async function getPrompt(at: At): Promise<CallOutcome> {
  const { call, visit, called } = at;
  const name = readString(call.params, "name");
  if (isFailure(name)) return name;
  const args = readStrings(call, "arguments");
  if (isFailure(args)) return args;
  const target = policyName(called.id, name);
  const listed =
    shownOf(at, "prompts").has(target) && visit.view.prompts.find((prompt) => prompt.target.name === target);
  const prompt = listed ? visit.backend.prompt(listed.wire.name) : undefined;
  if (!listed || !prompt) return failure("invalidParams", `Unknown prompt: ${name}`);
  return isFailure(prompt) ? prompt : asOwn(at, await prompt.get(args.value, under(call, listed.wire.name)));
}

/** The call as the view knows it: whether it may still be had is looked up by the listed name. */
function under(call: Call, name: string): Call {
  return { ...call, params: { ...call.params, name } };
}

/** Under the names that the upstream gives its user interfaces: here nothing of ours stands in a result. */
function asOwn<T extends CallOutcome | InvalidArguments>({ called: { id } }: At, outcome: T): T {
  if (outcome.kind !== "complete") return outcome;
  const { result } = outcome;
  const json = result instanceof Encoded ? result.json : JSON.stringify(result);
  const own = renameUi(json, (uri) => ownUi(id, uri));
  if (own === json) return outcome;
  return { ...outcome, result: result instanceof Encoded ? new Encoded(own, result.isStamped) : JSON.parse(own) };
}

async function readResource(at: At): Promise<CallOutcome> {
  const { backend, host, view } = at.visit;
  const uri = String(at.call.params.uri);
  if (view.resultBudget && host.results?.isRest(uri)) return backend.readResource({ uri, asked: uri }, at.call);
  return asOwn(at, await readListed(at));
}

async function readListed({ source, called, call, visit: { view, host } }: At): Promise<CallOutcome> {
  const own = readString(call.params, "uri");
  if (isFailure(own)) return own;
  const asked = listedUi(called.id, own);
  const parsed = parseUri(asked);
  if ("broken" in parsed) return failure("invalidParams", `Invalid params: uri: ${parsed.broken}`, { uri: own });
  const { uri } = parsed;
  const notFound = failure("resourceNotFound", undefined, { uri: own });
  if (!view.sees(uri)) return notFound;
  const run = async () => (await readSeen({ source, call, host, view }, { uri, asked })) ?? notFound;
  return surrounded({ name: uri, call, host, repeatable: true }, run);
}

type Seen = Pick<At, "source" | "call"> & Pick<WrappedVisit, "view" | "host">;

/** undefined: there is no such resource. */
async function readSeen(
  { source, call, host, view }: Seen,
  { uri, asked }: AskedUri,
): Promise<CallOutcome | undefined> {
  const refused = await beforeCall(uri, call, host);
  if (refused !== undefined) return failure("refused", refused);
  // As the view knows it: whether it may still be had is looked up by that.
  const viewed = { ...call, params: { ...call.params, uri } };
  const withdrawn = await host.recheck(viewed);
  if (withdrawn) return withdrawn;
  const held = source.resources.find((one) => one.uri === uri);
  if (held) return held.read({ uri, asked }, viewed, host);
  const further = await source.shelf?.read({ uri, asked }, viewed, host);
  if (further) return further;
  for (const template of source.templates.filter((one) => view.templates.includes(one))) {
    const outcome = await template.read({ uri, asked }, viewed, host);
    if (outcome) return outcome;
  }
  return undefined;
}

async function complete(at: At): Promise<CallOutcome> {
  const { call, called } = at;
  const asked = parseCompletion(call);
  if (isFailure(asked)) return asked;
  const { ref, name, value, known } = asked;
  const isShown =
    ref.type === "prompt"
      ? shownOf(at, "prompts").has(policyName(called.id, ref.name))
      : shownOf(at, "resourceTemplates").has(listedUi(called.id, ref.uri));
  if (!isShown) return invalid("ref", "names nothing here");
  const context = call.params.context === undefined ? {} : { context: { arguments: known } };
  return pass({ ...at, call: { ...call, params: { ...call.params, argument: { name, value }, ...context } } });
}
