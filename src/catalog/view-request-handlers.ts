// Serves requests from a view: passes each to the source that serves it. The view has already decided what is visible.

import { AppError } from "../protocol/app-error.ts";
import { applyAround } from "../handlers/around.ts";
import { eventOf } from "../handlers/error-outcome.ts";
import type { AccessRules } from "../handlers/access-rules.ts";
import { runBeforeCall } from "../handlers/run-handler-call.ts";
import type { RequestScope, ResultStore } from "../handlers/request-scope.ts";
import type {
  RequestHandlers,
  CompletionRef,
  CallablePrompt,
  CallableTool,
  ResourceList,
} from "../protocol/request-handlers.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { toolError } from "../protocol/methods/tools.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";
import type { CompletionQuery, ResourceRef, SourceTemplate } from "../protocol/source.ts";
import { parseUri } from "../protocol/uri.ts";
import { listAllResources } from "./list-all-resources.ts";
import type { ViewTool, View, ViewPagedResources } from "./view.ts";

export class ViewRequestHandlers implements RequestHandlers {
  readonly definitions: View;
  readonly #requestScope: RequestScope;

  constructor(view: View, requestScope: RequestScope) {
    this.definitions = view;
    this.#requestScope = requestScope;
  }

  tool(listed: string): CallableTool | Failure | undefined {
    const tool = this.definitions.tool(listed, Date.now());
    if (!tool || isFailure(tool)) return tool;
    const { target } = tool;
    return {
      definition: target,
      call: (args, request) => {
        const { around: ownAround } = target as AccessRules;
        if (!ownAround && !this.#requestScope.around) return this.#callToolIfAllowed(tool, args, request);
        const { name, repeatable, wire } = target;
        const hasOutput = wire.outputSchema !== undefined;
        const aroundCall = {
          name,
          call: request,
          requestScope: this.#requestScope,
          args,
          own: ownAround,
          repeatable,
          hasOutput,
        };
        return applyAround(aroundCall, () => this.#callToolIfAllowed(tool, args, request));
      },
    };
  }

  prompt(listed: string): CallablePrompt | Failure | undefined {
    const prompt = this.definitions.prompt(listed, Date.now());
    if (!prompt || isFailure(prompt)) return prompt;
    const { target } = prompt;
    return {
      definition: target,
      get: (args, request) => {
        const { name } = target;
        const { around: ownAround } = target as AccessRules;
        return applyAround(
          { name, call: request, requestScope: this.#requestScope, args, own: ownAround, repeatable: true },
          async () => {
            const rejection = await this.#checkCallAllowed(name, request);
            if (typeof rejection === "string") return failure("refused", rejection);
            return rejection ?? target.get(args, request, this.#requestScope);
          },
        );
      },
    };
  }

  async #callToolIfAllowed(
    { wire, target }: ViewTool,
    args: JsonObject,
    request: McpRequest,
  ): ReturnType<CallableTool["call"]> {
    const { name } = target;
    const rejection = await this.#checkCallAllowed(name, request);
    if (typeof rejection === "string") return toolError(rejection);
    if (rejection) return rejection;
    const outcome = await target.call(args, request, this.#requestScope);
    const { resultBudget: budget } = this.definitions;
    // Results are stored only if the profile has a budget, which most do not.
    const results = budget && this.#requestScope.results;
    return budget && results ? results.enforceBudget(outcome, { wire, name, budget }, this.#requestScope) : outcome;
  }

  /**
   * Runs the author's hook, then checks that the target is still available. A returned text or failure is the reason
   * not to run the call.
   */
  async #checkCallAllowed(name: string, request: McpRequest): Promise<string | Failure | undefined> {
    return (await runBeforeCall(name, request, this.#requestScope)) ?? this.#requestScope.recheck(request);
  }

  listResources(cursor: string | undefined, request: McpRequest): Promise<ResourceList | Failure> {
    return listAllResources(cursor, this.definitions, { request, requestScope: this.#requestScope });
  }

  /**
   * Looks among the resources in memory, then the sources' paged resources, then the templates, each in the order of
   * the sources.
   */
  readResource(ref: ResourceRef, request: McpRequest): Promise<CallOutcome> {
    const view = this.definitions;
    const { uri: name } = ref;
    const { results } = this.#requestScope;
    const overflow = results?.isOverflow(name) ? results : undefined;
    if (!overflow && !view.sees(name)) return this.#readVisible(ref, request);
    const { around: ownAround } = (view.resourcesByUri.get(name) ?? {}) as AccessRules;
    return applyAround(
      { name, call: request, requestScope: this.#requestScope, own: ownAround, repeatable: true },
      async () => {
        const overflowOutcome = overflow && (await this.#readOverflow(overflow, ref, request));
        return overflowOutcome ?? this.#readVisible(ref, request, overflow !== undefined);
      },
    );
  }

  /** `isAllowed`: the hook has already run. */
  async #readVisible(ref: ResourceRef, request: McpRequest, isAllowed = false): Promise<CallOutcome> {
    const view = this.definitions;
    const rejection = await (isAllowed
      ? this.#requestScope.recheck(request)
      : this.#checkCallAllowed(ref.uri, request));
    if (typeof rejection === "string") return failure("refused", rejection);
    if (rejection) return rejection;
    const resource = view.resourcesByUri.get(ref.uri);
    if (resource) return resource.read(ref, request, this.#requestScope);
    return view.sees(ref.uri) ? this.#readFromSources(ref, request) : notFound(ref);
  }

  /** Resource patterns do not apply to these: they are results of calls. Returns undefined if there is none. */
  async #readOverflow(results: ResultStore, ref: ResourceRef, request: McpRequest): Promise<CallOutcome | undefined> {
    const rejection = await runBeforeCall(ref.uri, request, this.#requestScope);
    if (rejection !== undefined) return failure("refused", rejection);
    const outcome = await results.read(ref, request, this.#requestScope, this.definitions);
    return isFailure(outcome) && outcome.error === "resourceNotFound" ? undefined : outcome;
  }

  /** A source that fails does not stop the others. After a failure, the resource cannot be reported as missing. */
  async #readFromSources(ref: ResourceRef, request: McpRequest): Promise<CallOutcome> {
    const { pagedResources: shelves, templates } = this.definitions;
    const lister = this.definitions.templateListing(ref.uri);
    const readers = lister ? [templateReader(lister)] : [...shelves.map(shelfReader), ...templates.map(templateReader)];
    let failed: { readonly error: unknown } | undefined;
    for (const { read, required } of readers) {
      try {
        const outcome = await read(ref, request, this.#requestScope);
        if (outcome) return outcome;
      } catch (error) {
        if (required || error instanceof AppError) throw error;
        this.#requestScope.hooks.onError?.(
          error,
          eventOf({ name: ref.uri, call: request, requestScope: this.#requestScope }),
        );
        failed ??= { error };
      }
    }
    return failed ? failure("busy") : notFound(ref);
  }

  async complete(
    ref: CompletionRef,
    query: CompletionQuery,
    request: McpRequest,
  ): Promise<readonly string[] | CallOutcome> {
    if (ref.type === "prompt") {
      const prompt = this.definitions.prompt(ref.name, Date.now());
      if (!prompt || isFailure(prompt)) return failure("invalidParams", `Unknown prompt: ${ref.name}`);
      return prompt.target.complete(query, request, this.#requestScope);
    }
    const template = this.definitions.templates.find(({ wire }) => wire.uriTemplate === ref.uri);
    if (template) return template.complete(query, request, this.#requestScope);
    // The reference may also name a plain resource, which has nothing to complete.
    const resourceUri = parseUri(ref.uri);
    if ("uri" in resourceUri && this.definitions.resourcesByUri.has(resourceUri.uri)) return [];
    return failure("invalidParams", `Unknown resource template: ${ref.uri}`);
  }
}

interface ResourceReader {
  readonly read: SourceTemplate<RequestScope>["read"];
  readonly required: boolean;
}

const shelfReader = ({ pagedResources, required }: ViewPagedResources): ResourceReader => ({
  read: (ref, request, requestScope) => pagedResources.read(ref, request, requestScope),
  required,
});
const templateReader = (template: SourceTemplate<RequestScope>): ResourceReader => ({
  read: (ref, request, requestScope) => template.read(ref, request, requestScope),
  required: false,
});

function notFound({ asked }: ResourceRef): Failure {
  return failure("resourceNotFound", "Resource not found", { uri: asked });
}
