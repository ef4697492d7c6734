// Owns the `Backend` over a view: it asks each thing of the source that serves it.
// Refuses to decide what is seen: the view did.

import { beforeCall } from "../../calls/handle.ts";
import type { CallHost } from "../../calls/call-host.ts";
import type { Backend, CompletionRequest, FoundPrompt, FoundTool, Page } from "../../protocol/backend.ts";
import type { Call } from "../../protocol/call.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { toolError } from "../../protocol/methods/tools.ts";
import type { CallOutcome } from "../../protocol/outcome.ts";
import type { AskedUri } from "../../protocol/source.ts";
import { listChain } from "./resource-chain.ts";
import type { View } from "./view.ts";

export class ViewBackend implements Backend {
  readonly definitions: View;
  readonly #host: CallHost;

  constructor(view: View, host: CallHost) {
    this.definitions = view;
    this.#host = host;
  }

  tool(name: string): FoundTool | Failure | undefined {
    const definition = this.definitions.tool(name, Date.now());
    if (!definition || isFailure(definition)) return definition;
    const { target } = definition;
    return {
      definition,
      call: async (args, call) => {
        const refused = await beforeCall(target.name, call, this.#host);
        return refused === undefined ? target.call(args, call, this.#host) : toolError(refused);
      },
    };
  }

  prompt(name: string): FoundPrompt | Failure | undefined {
    const definition = this.definitions.prompt(name, Date.now());
    if (!definition || isFailure(definition)) return definition;
    const { target } = definition;
    return {
      definition,
      get: async (args, call) => {
        const refused = await beforeCall(target.name, call, this.#host);
        return refused === undefined ? target.get(args, call, this.#host) : failure("refused", refused);
      },
    };
  }

  listResources(cursor: string | undefined): Promise<Page | Failure> {
    return listChain(cursor, this.definitions, this.#host);
  }

  /**
   * Looks in what is held in memory, then on the shelves, then under the templates, each in the order of the sources.
   */
  async readResource(asked: AskedUri, call: Call): Promise<CallOutcome> {
    const view = this.definitions;
    const refused = await beforeCall(asked.uri, call, this.#host);
    if (refused !== undefined) return failure("refused", refused);
    const held = view.resourcesByUri.get(asked.uri);
    if (held) return held.read(asked, call, this.#host);
    if (view.sees(asked.uri)) {
      for (const served of [...view.shelves.map(({ shelf }) => shelf), ...view.templates]) {
        const outcome = await served.read(asked, call, this.#host);
        if (outcome) return outcome;
      }
    }
    return failure("resourceNotFound", "Resource not found", { uri: asked.asked });
  }

  async complete({ ref, ...asked }: CompletionRequest, call: Call): Promise<readonly string[] | Failure> {
    if (ref.type === "prompt") {
      const prompt = this.definitions.prompts.find(({ wire }) => wire.name === ref.name);
      return (
        prompt?.target.complete(asked, call, this.#host) ?? failure("invalidParams", `Unknown prompt: ${ref.name}`)
      );
    }
    const template = this.definitions.templates.find(({ wire }) => wire.uriTemplate === ref.uri);
    if (template) return template.complete(asked, call, this.#host);
    // The reference may also name a plain resource, which has nothing to complete.
    if (this.definitions.resourcesByUri.has(ref.uri)) return [];
    return failure("invalidParams", `Unknown resource template: ${ref.uri}`);
  }
}
