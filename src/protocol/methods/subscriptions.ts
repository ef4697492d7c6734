// Subscriptions to changes: resources/subscribe in era 2025, subscriptions/listen in era 2026.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
// https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions

import type { McpRequest } from "../mcp-request.ts";
import type { CallOutcome } from "../call-outcome.ts";
import { failure, type Failure } from "../errors.ts";
import { isObject, type JsonObject, type MessageId } from "../jsonrpc.ts";
import { META } from "../meta.ts";
import { parseUri } from "../uri.ts";
import { invalid, isFailure, readString } from "./params.ts";

const MAX_LISTENED_URIS = 1000;
/**
 * For all URIs of one stream together: an isolate that also serves other tenants holds them while the stream is open.
 */
const MAX_LISTENED_CHARACTERS = 131_072;

/** Succeeds even if the resource does not exist: a hidden resource must look like a missing one. */
export async function subscribe(request: McpRequest): Promise<CallOutcome> {
  const uri = readSubscriptionUri(request);
  if (typeof uri !== "string") return uri;
  // Notifications repeat the URI as the client wrote it.
  if (await request.session?.subscribe(uri, request.params.uri as string)) return { kind: "complete", result: {} };
  return failure("refused", "Refused: this session has as many subscriptions as it may");
}

export async function unsubscribe(request: McpRequest): Promise<CallOutcome> {
  const uri = readSubscriptionUri(request);
  if (typeof uri !== "string") return uri;
  await request.session?.unsubscribe(uri);
  return { kind: "complete", result: {} };
}

function readSubscriptionUri(request: McpRequest): string | Failure {
  const uri = readString(request.params, "uri");
  if (isFailure(uri)) return uri;
  const parsed = parseUri(uri);
  if ("broken" in parsed) return failure("invalidParams", `Invalid params: uri: ${parsed.broken}`, { uri: uri });
  if (request.session) return parsed.uri;
  return failure("sessionRequired", `${request.method} needs a session: send initialize first`);
}

/** The notifications that a stream requests. */
export interface ListenFilter {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  /** Each URI as the client wrote it, which notifications repeat, by its normalized form. */
  readonly uris: ReadonlyMap<string, string>;
}

const FLAGS = ["toolsListChanged", "promptsListChanged", "resourcesListChanged"] as const;

export function parseListenFilter(params: JsonObject): ListenFilter | Failure {
  const { notifications } = params;
  if (!isObject(notifications)) return invalid("notifications", "must be an object");
  for (const flag of FLAGS) {
    if (notifications[flag] !== undefined && typeof notifications[flag] !== "boolean") {
      return invalid(`notifications.${flag}`, "must be a boolean");
    }
  }
  const uris = readUris(notifications.resourceSubscriptions ?? []);
  if (isFailure(uris)) return uris;
  return {
    tools: notifications.toolsListChanged === true,
    prompts: notifications.promptsListChanged === true,
    resources: notifications.resourcesListChanged === true,
    uris,
  };
}

function readUris(list: unknown): ReadonlyMap<string, string> | Failure {
  const path = "notifications.resourceSubscriptions";
  if (!Array.isArray(list)) return invalid(path, "must be an array of URIs");
  if (list.length > MAX_LISTENED_URIS) return invalid(path, `has at most ${MAX_LISTENED_URIS} URIs`);
  const uris = new Map<string, string>();
  let characters = 0;
  for (const [at, uri] of list.entries()) {
    const parsed = typeof uri === "string" ? parseUri(uri) : { broken: "must be a string" };
    if ("broken" in parsed) return invalid(`${path}.${at}`, parsed.broken);
    characters += parsed.uri.length;
    if (characters > MAX_LISTENED_CHARACTERS) return invalid(path, `has at most ${MAX_LISTENED_CHARACTERS} characters`);
    uris.set(parsed.uri, uri as string);
  }
  return uris;
}

/** `params` of `notifications/subscriptions/acknowledged`. Repeats the filter, because all of it is served. */
export function acknowledgedParams({ tools, prompts, resources, uris }: ListenFilter): JsonObject {
  return {
    notifications: {
      ...(tools ? { toolsListChanged: true } : {}),
      ...(prompts ? { promptsListChanged: true } : {}),
      ...(resources ? { resourcesListChanged: true } : {}),
      ...(uris.size > 0 ? { resourceSubscriptions: [...uris.values()] } : {}),
    },
  };
}

export function subscriptionMeta(id: MessageId): JsonObject {
  return { [META.subscriptionId]: id };
}
