// Owns the `Backend` over a view: it asks each thing of the source that serves it.
// Refuses to decide what is seen: the view did.

import { AppError } from "../../protocol/app-error.ts";
import { surrounded } from "../../calls/around.ts";
import { eventOf } from "../../calls/fault.ts";
import type { Guarded } from "../../calls/guarded.ts";
import { beforeCall } from "../../calls/handle.ts";
import type { CallHost, ResultKeeper } from "../../calls/call-host.ts";
import type { Backend, CompletionRequest, FoundPrompt, FoundTool, Page } from "../../protocol/backend.ts";
import type { Call } from "../../protocol/call.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { toolError } from "../../protocol/methods/tools.ts";
import type { CallOutcome } from "../../protocol/outcome.ts";
import type { AskedUri, ServedTemplate } from "../../protocol/source.ts";
import { parseUri } from "../../protocol/uri.ts";
import { listChain } from "./resource-chain.ts";
import type { ListedTool, View, ViewedShelf } from "./view.ts";

export class ViewBackend implements Backend {
  readonly definitions: View;
  readonly #host: CallHost;

  constructor(view: View, host: CallHost) {
    this.definitions = view;
    this.#host = host;
  }

  tool(listed: string): FoundTool | Failure | undefined {
    const definition = this.definitions.tool(listed, Date.now());
    if (!definition || isFailure(definition)) return definition;
    const { target } = definition;
    return {
      definition,
      call: (args, call) => {
        const { around: own } = target as Guarded;
        if (!own && !this.#host.around) return this.#callTool(definition, args, call);
        const { name, repeatable, wire } = target;
        const hasOutput = wire.outputSchema !== undefined;
        const about = { name, call, host: this.#host, args, own, repeatable, hasOutput };
        return surrounded(about, () => this.#callTool(definition, args, call));
      },
    };
  }

  prompt(listed: string): FoundPrompt | Failure | undefined {
    const definition = this.definitions.prompt(listed, Date.now());
    if (!definition || isFailure(definition)) return definition;
    const { target } = definition;
    return {
      definition,
      get: (args, call) => {
        const { name } = target;
        const { around: own } = target as Guarded;
        return surrounded({ name, call, host: this.#host, args, own, repeatable: true }, async () => {
          const stop = await this.#allow(name, call);
          if (typeof stop === "string") return failure("refused", stop);
          return stop ?? target.get(args, call, this.#host);
        });
      },
    };
  }

  async #callTool({ wire, target }: ListedTool, args: JsonObject, call: Call): ReturnType<FoundTool["call"]> {
    const { name } = target;
    const stop = await this.#allow(name, call);
    if (typeof stop === "string") return toolError(stop);
    if (stop) return stop;
    const outcome = await target.call(args, call, this.#host);
    const { resultBudget: budget } = this.definitions;
    // Who keeps results is looked for only where a profile says so: most calls have no budget.
    const results = budget && this.#host.results;
    return budget && results ? results.within(outcome, { wire, name, budget }, this.#host) : outcome;
  }

  /** Asks the author's hook, then looks whether what is called is still there. A text or a failure: it does not run, and why. */
  async #allow(name: string, call: Call): Promise<string | Failure | undefined> {
    return (await beforeCall(name, call, this.#host)) ?? this.#host.recheck(call);
  }

  listResources(cursor: string | undefined, call: Call): Promise<Page | Failure> {
    return listChain(cursor, this.definitions, { call, host: this.#host });
  }

  /**
   * Looks in what is held in memory, then on the shelves, then under the templates, each in the order of the sources.
   */
  readResource(asked: AskedUri, call: Call): Promise<CallOutcome> {
    const view = this.definitions;
    const { uri: name } = asked;
    const { results } = this.#host;
    const keeper = results?.isRest(name) ? results : undefined;
    if (!keeper && !view.sees(name)) return this.#readSeen(asked, call);
    const { around: own } = (view.resourcesByUri.get(name) ?? {}) as Guarded;
    return surrounded({ name, call, host: this.#host, own, repeatable: true }, async () => {
      const kept = keeper && (await this.#readRest(keeper, asked, call));
      return kept ?? this.#readSeen(asked, call, keeper !== undefined);
    });
  }

  /** `isAllowed`: the hook was asked already. */
  async #readSeen(asked: AskedUri, call: Call, isAllowed = false): Promise<CallOutcome> {
    const view = this.definitions;
    const stop = await (isAllowed ? this.#host.recheck(call) : this.#allow(asked.uri, call));
    if (typeof stop === "string") return failure("refused", stop);
    if (stop) return stop;
    const held = view.resourcesByUri.get(asked.uri);
    if (held) return held.read(asked, call, this.#host);
    return view.sees(asked.uri) ? this.#readFurther(asked, call) : notFound(asked);
  }

  /** Which resources the view shows says nothing of these: they are results of calls. undefined: there is none. */
  async #readRest(results: ResultKeeper, asked: AskedUri, call: Call): Promise<CallOutcome | undefined> {
    const refused = await beforeCall(asked.uri, call, this.#host);
    if (refused !== undefined) return failure("refused", refused);
    const kept = await results.read(asked, call, this.#host, this.definitions);
    return isFailure(kept) && kept.error === "resourceNotFound" ? undefined : kept;
  }

  /** A source that fails takes no other with it; but where one failed, nobody can say that there is no such resource. */
  async #readFurther(asked: AskedUri, call: Call): Promise<CallOutcome> {
    const { shelves, templates } = this.definitions;
    const lister = this.definitions.lister(asked.uri);
    const all = lister ? [readTemplate(lister)] : [...shelves.map(readShelf), ...templates.map(readTemplate)];
    let failed: { readonly error: unknown } | undefined;
    for (const { read, required } of all) {
      try {
        const outcome = await read(asked, call, this.#host);
        if (outcome) return outcome;
      } catch (error) {
        if (required || error instanceof AppError) throw error;
        this.#host.hooks.onError?.(error, eventOf({ name: asked.uri, call, host: this.#host }));
        failed ??= { error };
      }
    }
    return failed ? failure("busy") : notFound(asked);
  }

  async complete({ ref, ...asked }: CompletionRequest, call: Call): Promise<readonly string[] | CallOutcome> {
    if (ref.type === "prompt") {
      const prompt = this.definitions.prompt(ref.name, Date.now());
      if (!prompt || isFailure(prompt)) return failure("invalidParams", `Unknown prompt: ${ref.name}`);
      return prompt.target.complete(asked, call, this.#host);
    }
    const template = this.definitions.templates.find(({ wire }) => wire.uriTemplate === ref.uri);
    if (template) return template.complete(asked, call, this.#host);
    // The reference may also name a plain resource, which has nothing to complete.
    const plain = parseUri(ref.uri);
    if ("uri" in plain && this.definitions.resourcesByUri.has(plain.uri)) return [];
    return failure("invalidParams", `Unknown resource template: ${ref.uri}`);
  }
}

interface Reading {
  readonly read: ServedTemplate<CallHost>["read"];
  readonly required: boolean;
}

const readShelf = ({ shelf, required }: ViewedShelf): Reading => ({
  read: (asked, call, host) => shelf.read(asked, call, host),
  required,
});
const readTemplate = (template: ServedTemplate<CallHost>): Reading => ({
  read: (asked, call, host) => template.read(asked, call, host),
  required: false,
});

function notFound({ asked }: AskedUri): Failure {
  return failure("resourceNotFound", "Resource not found", { uri: asked });
}
