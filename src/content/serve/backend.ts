// Owns the `Backend` over a tenant's own things: handlers in code, and what is stored.

import { seal, unseal, type KeyRing } from "../../auth/seal.ts";
import type {
  Backend,
  CacheHint,
  Call,
  CallOutcome,
  CompletionRequest,
  InvalidArguments,
  Page,
  PromptDefinition,
  ToolDefinition,
} from "../../protocol/backend.ts";
import { decodeCursor, encodeCursor } from "../../protocol/cursor.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { invalid } from "../../protocol/methods/params.ts";
import { toolError } from "../../protocol/methods/tools.ts";
import { handle, refusalOf, reportComplete } from "../../calls/handle.ts";
import { completeArgument } from "./complete.ts";
import type { CallHost } from "../../calls/call-host.ts";
import { hasAtMost } from "../../calls/json-schema.ts";
import type { Resource, ResourceTemplate } from "../define/resource.ts";
import { promptResult, resourceContents, toolResult } from "../define/results.ts";
import type { ResourceMeta } from "../../calls/resource-store.ts";
import { DEFAULT_TIMEOUT_MS } from "../define/tool.ts";
import type { ListedPrompt, ListedTool, View } from "./view.ts";

/** Values within one call's arguments: what a schema may cost grows faster than they do. */
const MAX_MEMBERS = 20_000;
const TOO_MANY = {
  path: "",
  expected: `at most ${MAX_MEMBERS} values`,
  received: "more",
  message: `arguments: at most ${MAX_MEMBERS} values`,
};

/** Resources per page. */
const PAGE = 100;

export class ContentBackend implements Backend {
  readonly #view: View;
  readonly #host: CallHost;

  constructor(view: View, host: CallHost) {
    this.#view = view;
    this.#host = host;
  }

  get server() {
    return this.#view.server;
  }
  get instructions() {
    return this.#view.instructions;
  }
  get definitionsCache(): CacheHint {
    return this.#view.cache;
  }
  get tools() {
    return this.#view.tools;
  }
  get prompts() {
    return this.#view.prompts;
  }
  get templates() {
    return this.#view.templates;
  }

  tool(name: string): ToolDefinition | Failure | undefined {
    return this.#view.tool(name, Date.now());
  }

  prompt(name: string): PromptDefinition | Failure | undefined {
    return this.#view.prompt(name, Date.now());
  }

  async callTool(definition: ToolDefinition, args: JsonObject, call: Call): Promise<CallOutcome | InvalidArguments> {
    const tool = (definition as ListedTool).target;
    if (!hasAtMost(MAX_MEMBERS, args)) return { kind: "invalidArguments", violations: [TOO_MANY] };
    const checking = tool.input.validate(args);
    const checked = checking instanceof Promise ? await checking : checking;
    if ("violations" in checked) return { kind: "invalidArguments", violations: checked.violations };
    const refused = await refusalOf(tool.name, call, this.#host);
    if (refused !== undefined) return toolError(refused);
    return handle(
      {
        name: tool.name,
        timeoutMs: tool.timeoutMs,
        work: (ctx) => tool.handler(checked.value as never, ctx),
        finish: (returned) => toolResult(returned, tool.output),
        fail: (error) => toolError(errorText(error)),
      },
      call,
      this.#host,
    );
  }

  async getPrompt(
    definition: PromptDefinition,
    args: Readonly<Record<string, string>>,
    call: Call,
  ): Promise<CallOutcome> {
    const prompt = (definition as ListedPrompt).target;
    const refused = await refusalOf(prompt.name, call, this.#host);
    if (refused !== undefined) return failure("refused", refused);
    return handle(
      {
        name: prompt.name,
        timeoutMs: DEFAULT_TIMEOUT_MS,
        work: (ctx) => prompt.handler({ ...args }, ctx),
        finish: (returned) => promptResult(returned, prompt.wire.description),
        fail: () => failure("internal", "Internal error: the prompt could not be made"),
      },
      call,
      this.#host,
    );
  }

  async listResources(cursor: string | undefined): Promise<Page | Failure> {
    const { resources } = this.#view;
    const place = await placeOf(cursor, resources.length, this.#host.ring);
    if (!place) return invalid("cursor", "is not one of this list");
    const { start, after } = place;
    const inCode = resources.slice(start, start + PAGE).map((resource) => resource.wire);
    const end = start + inCode.length;
    const following = { nextCursor: encodeCursor("resources", `code ${end}`) };
    if (end < resources.length) return { items: inCode, ...following };
    const room = PAGE - inCode.length;
    const stored = await this.#host.resources().list({
      limit: Math.max(room, 1),
      ...(after === undefined ? {} : { cursor: encodeCursor("stored", after) }),
    });
    const last = stored.items.at(-1);
    // A page may be empty and yet not the last; where it ended is then the name of something hidden.
    const nextCursor = stored.cursor && (await cursorAfter(last?.uri, stored.cursor, this.#host.ring));
    // A full page is the last one only if nothing is stored.
    if (room === 0) return { items: inCode, ...(last || stored.cursor !== undefined ? following : {}) };
    // What is in code hides what is stored under the same URI, here as in reading.
    const shown = stored.items.filter(({ uri }) => !this.#view.resourcesByUri.has(uri));
    return {
      items: [...inCode, ...shown.map(resourceWire)],
      ...(nextCursor === undefined ? {} : { nextCursor }),
    };
  }

  async readResource(uri: string, asked: string, call: Call): Promise<CallOutcome> {
    const refused = await refusalOf(uri, call, this.#host);
    if (refused !== undefined) return failure("refused", refused);
    const inCode = this.#view.resourcesByUri.get(uri);
    if (inCode) return this.#readHandler(uri, asked, inCode, call);
    const stored = await this.#host.resources().read(uri);
    if (stored) {
      const body = stored.text ?? stored.blob;
      const { cacheScope } = this.#view.cache;
      reportComplete(uri, call, this.#host);
      return {
        kind: "complete",
        result: resourceContents(asked, stored.mimeType, body),
        cache: { ttlMs: 0, cacheScope },
      };
    }
    for (const template of this.#view.templates) {
      const variables = template.read && this.#view.sees(uri) ? template.template.match(uri) : undefined;
      if (variables) return this.#readTemplate(template, variables, { uri, asked }, call);
    }
    return notFound(asked);
  }

  #readHandler(uri: string, asked: string, resource: Resource, call: Call): Promise<CallOutcome> {
    return handle(
      {
        name: uri,
        timeoutMs: DEFAULT_TIMEOUT_MS,
        work: (ctx) => resource.read(ctx),
        finish: (body) => ({ result: resourceContents(asked, resource.mimeType, body) }),
        fail: () => failure("internal", "Internal error: the resource could not be read"),
      },
      call,
      this.#host,
    );
  }

  async #readTemplate(
    { read, mimeType }: ResourceTemplate,
    variables: Record<string, string>,
    { uri, asked }: { readonly uri: string; readonly asked: string },
    call: Call,
  ): Promise<CallOutcome> {
    let missing = false;
    const outcome = await handle(
      {
        name: uri,
        timeoutMs: DEFAULT_TIMEOUT_MS,
        work: (ctx) => read?.(variables, ctx),
        finish: (body) => {
          missing = body === undefined;
          return { result: resourceContents(asked, mimeType, body ?? "") };
        },
        fail: () => failure("internal", "Internal error: the resource could not be read"),
      },
      call,
      this.#host,
    );
    return missing ? notFound(asked) : outcome;
  }

  complete(request: CompletionRequest, call: Call): Promise<readonly string[] | Failure> {
    return completeArgument(request, this.#view, this.#host, call);
  }
}

async function cursorAfter(shown: string | undefined, stored: string, ring: KeyRing): Promise<string> {
  const place = shown === undefined ? `sealed ${await seal(ring, "resources", stored)}` : `stored ${shown}`;
  return encodeCursor("resources", place);
}

/** Where a page of resources begins: in code, or after a stored one; undefined for a cursor that is not ours. */
async function placeOf(
  cursor: string | undefined,
  inCode: number,
  ring: KeyRing,
): Promise<{ start: number; after?: string } | undefined> {
  if (cursor === undefined) return { start: 0 };
  // Anybody can write a cursor: a position in code, or a URI as one is stored.
  const written = /^(?:code (\d{1,9})|stored ([\x21-\x7e]{1,2048})|sealed ([\w.-]{1,8192}))$/;
  const [, digits, shown, sealed] = written.exec(decodeCursor("resources", cursor) ?? "") ?? [];
  const after = sealed ? decodeCursor("stored", (await unseal(ring, "resources", sealed)) ?? "") : shown;
  if (after !== undefined) return { start: inCode, after };
  return digits === undefined || Number(digits) > inCode ? undefined : { start: Number(digits) };
}

function notFound(uri: string): Failure {
  return failure("resourceNotFound", "Resource not found", { uri });
}

function resourceWire(meta: ResourceMeta): JsonObject {
  const { uri, name, title, description, mimeType, size, lastModified, audience, priority } = meta;
  return {
    uri,
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    mimeType,
    size,
    annotations: {
      ...(audience === undefined ? {} : { audience }),
      ...(priority === undefined ? {} : { priority }),
      lastModified,
    },
  };
}

/** What a model may read of an exception: its name and message, never where it was thrown. */
function errorText(error: unknown): string {
  return typeof error === "string" ? error : String(error);
}
