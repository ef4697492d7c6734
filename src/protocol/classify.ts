// Classifies a message: its era and revision, or the reason for a rejection. Pure: takes plain header values and parsed
// JSON. The official conformance suite tests the order of the checks.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation

import {
  DEFAULT_REVISION,
  REVISION_2026,
  findRevision2025,
  eraOfVersion,
  VERSION_2026,
  type RevisionFeatures,
  type Era,
} from "./revisions.ts";
import { failure, type Failure } from "./errors.ts";
import { checkStandardHeaders } from "./headers.ts";
import { isObject, parseMessage, type JsonObject, type EchoId, type RpcMessage, type RpcRequest } from "./jsonrpc.ts";
import { isLogLevel, META } from "./meta.ts";

/** `MCP-Protocol-Version`, `Mcp-Session-Id`, `Mcp-Method` and `Mcp-Name` as received; null if absent. */
export interface InboundHeaders {
  readonly version: string | null;
  readonly session: string | null;
  readonly method: string | null;
  readonly name: string | null;
}

export interface Rejected {
  readonly kind: "rejected";
  readonly era: Era;
  readonly id: EchoId;
  readonly failure: Failure;
}

export type Classified =
  | Rejected
  | { readonly kind: "request2026"; readonly message: RpcRequest; readonly params: JsonObject }
  | {
      readonly kind: "message2025";
      readonly message: Exclude<RpcMessage, { kind: "invalid" }>;
      readonly revision: RevisionFeatures;
    }
  | { readonly kind: "batch2025"; readonly messages: readonly RpcMessage[] }
  /** A notification of era 2026: this server acts on none of them. */
  | { readonly kind: "ignored" };

export const MAX_BATCH = 50;

export function classify(body: unknown, headers: InboundHeaders): Classified {
  if (Array.isArray(body)) return classifyBatch(body, headers);
  const message = parseMessage(body);
  const era = eraOfVersion(headers.version);
  switch (message.kind) {
    case "invalid":
      return toRejected(era, message.id, failure("invalidRequest", `Invalid Request: ${message.why}`));
    case "request":
      return classifyRequest(message, headers);
    case "notification":
      if (era === "2026" || claimedVersionOf(message.params) !== undefined) return { kind: "ignored" };
      return classify2025(message, headers);
    case "response":
      if (era === "2026") {
        // A response repeats the id of a server's request; the rejection must not use it as the id of a client's
        // request.
        return toRejected(
          era,
          undefined,
          failure(
            "invalidRequest",
            "Invalid Request: this revision sends no requests to clients, so it accepts no responses",
          ),
        );
      }
      return classify2025(message, headers);
  }
}

function classifyRequest(message: RpcRequest, headers: InboundHeaders): Classified {
  const claim = claimedVersionOf(message.params);
  if (claim !== undefined && message.params) return classify2026(message, message.params, claim, headers);
  if (headers.version === VERSION_2026) {
    if (message.method === "initialize") {
      const why = `Header mismatch: initialize belongs to earlier revisions, the header says ${VERSION_2026}`;
      return toRejected("2026", message.id, failure("headerMismatch", why));
    }
    const why = `Invalid params: _meta["${META.protocolVersion}"] is required`;
    return toRejected("2026", message.id, failure("invalidMetadata", why));
  }
  return classify2025(message, headers);
}

function classify2026(message: RpcRequest, params: JsonObject, claim: unknown, headers: InboundHeaders): Classified {
  const reject = (reason: Failure) => toRejected("2026", message.id, reason);
  const meta = params._meta as JsonObject;
  if (typeof claim !== "string") {
    return reject(failure("invalidMetadata", `Invalid params: _meta["${META.protocolVersion}"] must be a string`));
  }
  if (headers.version !== claim) {
    const why = headers.version === null ? "is required" : "does not match _meta";
    return reject(failure("headerMismatch", `Header mismatch: MCP-Protocol-Version ${why}`));
  }
  if (claim !== VERSION_2026) {
    return reject(failure("unsupportedVersion", undefined, { supported: [VERSION_2026], requested: claim }));
  }
  const metaFault = checkMeta(meta);
  if (metaFault !== undefined) return reject(failure("invalidMetadata", `Invalid params: ${metaFault}`));
  const headerFault = checkStandardHeaders(message.method, params, headers);
  return headerFault ? reject(headerFault) : { kind: "request2026", message, params };
}

function checkMeta(meta: JsonObject): string | undefined {
  if (!isObject(meta[META.clientCapabilities])) return `_meta["${META.clientCapabilities}"] must be an object`;
  const info = meta[META.clientInfo];
  if (info !== undefined && !isObject(info)) return `_meta["${META.clientInfo}"] must be an object`;
  const level = meta[META.logLevel];
  if (level !== undefined && !isLogLevel(level)) return `_meta["${META.logLevel}"] is not a log level`;
  return undefined;
}

/**
 * The version header determines the revision; without one it is 2025-03-26. A session's own revision replaces it later.
 * `initialize` is accepted under any header, because it names its revision in the body.
 */
function classify2025(message: Exclude<RpcMessage, { kind: "invalid" }>, headers: InboundHeaders): Classified {
  const revision = headers.version === null ? DEFAULT_REVISION : findRevision2025(headers.version);
  if (revision) return { kind: "message2025", message, revision };
  if (message.kind === "request" && message.method === "initialize") {
    return { kind: "message2025", message, revision: DEFAULT_REVISION };
  }
  const id = message.kind === "request" ? message.id : undefined;
  const why = `Bad MCP-Protocol-Version header: ${JSON.stringify(String(headers.version).slice(0, 64))} is not served`;
  return toRejected("2025", id, failure("invalidMetadata", why));
}

function classifyBatch(body: readonly unknown[], headers: InboundHeaders): Classified {
  const era = eraOfVersion(headers.version);
  const refuse = (why: string) => toRejected(era, undefined, failure("invalidRequest", `Invalid Request: ${why}`));
  if (era === "2026") return refuse("this revision has no batches");
  if (body.length === 0) return refuse("an empty batch");
  if (body.length > MAX_BATCH) return refuse(`a batch has at most ${MAX_BATCH} messages`);
  const messages = body.map(parseMessage);
  for (const message of messages) {
    if (message.kind !== "request" && message.kind !== "notification") continue;
    if (message.method === "initialize") return refuse("initialize must not be part of a batch");
    if (claimedVersionOf(message.params) !== undefined) {
      const why = `Invalid Request: revision ${REVISION_2026.version} has no batches`;
      return toRejected("2026", undefined, failure("invalidRequest", why));
    }
  }
  return { kind: "batch2025", messages };
}

/** The version that a message claims in `_meta`, of any type; undefined if the key is absent. */
function claimedVersionOf(params: JsonObject | undefined): unknown {
  const meta = params?._meta;
  return isObject(meta) && META.protocolVersion in meta ? (meta[META.protocolVersion] ?? null) : undefined;
}

function toRejected(era: Era, id: EchoId, reason: Failure): Rejected {
  return { kind: "rejected", era, id, failure: reason };
}
