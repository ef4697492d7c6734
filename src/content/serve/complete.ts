// Owns completion: an argument's own completer, or for a template variable what is stored under the template.

import type { Call, CompletionRequest } from "../../protocol/backend.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { invalid } from "../../protocol/methods/params.ts";
import { Context } from "../../calls/context.ts";
import type { CallHost } from "../../calls/call-host.ts";
import type { Completer } from "../define/prompt.ts";
import type { ResourceTemplate } from "../define/resource.ts";
import { runHandler } from "../../calls/run-handler.ts";
import { StreamInterview } from "../../calls/stream-interview.ts";
import type { View } from "./view.ts";

const TIMEOUT_MS = 10_000;
/** Stored URIs looked at for one completion. */
const MAX_STORED = 2000;

export async function completeArgument(
  request: CompletionRequest,
  view: View,
  host: CallHost,
  call: Call,
): Promise<readonly string[] | Failure> {
  const found = request.ref.type === "prompt" ? promptCompleter(request, view) : templateCompleter(request, view, host);
  if (typeof found !== "function") return found;
  const interview = new StreamInterview({}, undefined, undefined);
  const ctx = new Context(call, host, interview, request.argument.name);
  const ended = await runHandler(async () => found(request.argument.value, { arguments: request.context, ctx }), {
    timeoutMs: TIMEOUT_MS,
    interview,
    sink: call.sink,
  });
  if (ended.kind === "returned") return ended.value;
  ctx.abort(new Error("the completion is over"));
  if (ended.kind === "threw") host.hooks.onError?.(ended.error, undefined);
  return ended.kind === "timedOut" ? failure("timeout") : failure("internal", "Internal error: the completion failed");
}

const NOTHING: Completer = () => [];

function promptCompleter(request: CompletionRequest, view: View): Completer | Failure {
  const name = request.ref.type === "prompt" ? request.ref.name : "";
  const prompt = view.prompts.find((candidate) => candidate.wire.name === name);
  if (!prompt) return failure("invalidParams", `Unknown prompt: ${name}`);
  const { arguments: declared } = prompt.target;
  if (!Object.hasOwn(declared, request.argument.name)) return invalid("argument.name", "is no argument of the prompt");
  return declared[request.argument.name]?.complete ?? NOTHING;
}

function templateCompleter(request: CompletionRequest, view: View, host: CallHost): Completer | Failure {
  const uri = request.ref.type === "resource" ? request.ref.uri : "";
  const { name } = request.argument;
  const template = view.templates.find((candidate) => candidate.template.template === uri);
  if (!template) {
    // The reference may also name a plain resource, which has nothing to complete.
    return view.resourcesByUri.has(uri) ? NOTHING : failure("invalidParams", `Unknown resource template: ${uri}`);
  }
  if (!template.template.variables.includes(name)) return invalid("argument.name", "is no variable of the template");
  const own = Object.hasOwn(template.complete, name) ? template.complete[name] : undefined;
  return own ?? ((value, about) => storedValues(template, name, value, { known: about.arguments, host }));
}

/** The values of one variable among stored URIs that agree with the variables already chosen. */
async function storedValues(
  { template }: ResourceTemplate,
  name: string,
  value: string,
  { known, host }: { readonly known: Readonly<Record<string, string>>; readonly host: CallHost },
): Promise<readonly string[]> {
  // Up to the first reserved character: a URI may hold that one as it is or escaped.
  const [plain = ""] = /^[\w.~\-\u0080-\uffff]*/.exec(value.toWellFormed()) ?? [];
  const typed = template.leadingVariable === name ? encodeURIComponent(plain) : "";
  const uris = await host.resources().uris(template.literalPrefix + typed, MAX_STORED);
  const values = new Set<string>();
  for (const uri of uris) {
    const variables = template.match(uri);
    const candidate = variables?.[name];
    if (!variables || candidate === undefined || !candidate.startsWith(value)) continue;
    if (Object.entries(known).every(([other, chosen]) => other === name || variables[other] === chosen)) {
      values.add(candidate);
    }
  }
  return [...values];
}
