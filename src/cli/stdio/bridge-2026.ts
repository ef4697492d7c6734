// Messages of era 2026: each request is an exchange of its own, and a subscription outlives its connection. A call
// that may have run is never repeated, and the client learns of notifications that a subscription may have missed.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http

import { McpFault } from "../../mcp-client/fault.ts";
import {
  LIST_CHANGED,
  listen2026,
  missingFrom,
  RESOURCE_UPDATED,
  type ListenEvent,
  type ListenFilter2026,
} from "../../mcp-client/listen-2026.ts";
import { rpcErrorOf, type ResponseMessage } from "../../mcp-client/message.ts";
import { createHeaders2026, type PreparedRequest } from "../../mcp-client/prepared-request.ts";
import { send2026, sendNotification2026 } from "../../mcp-client/stateless-2026.ts";
import { errorCode } from "../../protocol/errors.ts";
import type { ParamHeader } from "../../protocol/headers.ts";
import { notification, type MessageId } from "../../protocol/jsonrpc.ts";
import { META } from "../../protocol/meta.ts";
import { dropReason, mcpErrorMessage } from "../terminal/mcp-error.ts";
import type { OpenRequest } from "./open-requests.ts";
import type { LocalNotification, LocalRequest, LocalResponse } from "./local-message.ts";
import { ToolSchemas } from "./tool-schemas.ts";
import { ensureResponse, logRejection, type BridgeOptions } from "./bridge-options.ts";

const HEADER_MISMATCH = errorCode("headerMismatch", "2026");

export class Bridge2026 {
  readonly #options: BridgeOptions;
  readonly #schemas: ToolSchemas;

  constructor(options: BridgeOptions) {
    this.#options = options;
    this.#schemas = new ToolSchemas(options);
  }

  async request(call: OpenRequest): Promise<void> {
    const { method } = call.request;
    await ensureResponse(this.#options, call, async () => {
      if (method === "subscriptions/listen") await this.#listen(call);
      else if (method === "tools/call") await this.#forwardToolCall(call);
      else await this.#relay(call, toOutgoing(call.request));
    });
    call.close();
  }

  async forward({ method, params, revision = "", text }: LocalNotification | LocalResponse): Promise<void> {
    const { endpoint, signal, log } = this.#options;
    try {
      await sendNotification2026(
        endpoint,
        { headers: createHeaders2026(revision, { method, params }), text },
        { signal },
      );
    } catch (error) {
      if (!signal.aborted) log(`${method}: ${mcpErrorMessage(error, endpoint)}`);
    }
  }

  async #forwardToolCall(call: OpenRequest): Promise<void> {
    const paramHeaders = await this.#schemas.paramHeadersFor(call.request);
    const first = toOutgoing(call.request, paramHeaders);
    const mismatch = await this.#relay(call, first, isMismatch);
    if (!mismatch) return;
    // The tool has changed since it was listed. The server refuses such a call before running it, so it can be sent
    // again.
    await this.#schemas.load(call.request);
    const second = toOutgoing(call.request, await this.#schemas.paramHeadersFor(call.request));
    if (JSON.stringify(second.headers) === JSON.stringify(first.headers)) return call.answer(mismatch);
    await this.#relay(call, second);
  }

  /**
   * Passes on all messages up to the response. A response that `isIntercepted` accepts is returned instead of passed
   * on.
   */
  async #relay(
    call: OpenRequest,
    request: PreparedRequest,
    isIntercepted: (response: ResponseMessage) => boolean = () => false,
  ): Promise<ResponseMessage | undefined> {
    const { messages, http } = await send2026(this.#options.endpoint, request, { signal: call.signal });
    for await (const message of messages) {
      if (!call.isOpen) continue;
      // Requests are dropped: servers of this era ask questions only inside results.
      if (message.kind === "notification") await this.#options.write(message.text);
      if (message.kind !== "response") continue;
      if (isIntercepted(message)) return message;
      logRejection(this.#options, request.method, message, http);
      await call.answer(request.method === "tools/list" ? this.#schemas.recordPage(message) : message);
    }
    return undefined;
  }

  async #listen(call: OpenRequest): Promise<void> {
    const { endpoint } = this.#options;
    const options = { signal: call.signal, limits: endpoint.limits };
    let first: ListenFilter2026 | undefined;
    try {
      for await (const event of listen2026(endpoint, toOutgoing(call.request), options)) {
        await this.#handleListenEvent(call, event, first);
        if (event.kind === "listening") first ??= event.filter;
      }
    } catch (error) {
      if (!(error instanceof McpFault) || error.fault.kind !== "refused") throw error;
      logRejection(this.#options, call.request.method, error.fault.error, error.fault.http);
      await call.answer(error.fault.error);
    }
  }

  async #handleListenEvent(call: OpenRequest, event: ListenEvent, first: ListenFilter2026 | undefined): Promise<void> {
    const { write, log } = this.#options;
    if (!call.isOpen) return;
    switch (event.kind) {
      case "ended":
        return call.answer(event.message);
      case "notification":
        return write(event.message.text);
      case "dropped":
        return log(`${dropReason(event.fault)}; listening again in ${event.waitMs / 1000} s`);
      case "listening":
        return first === undefined ? write(event.message.text) : this.#announceGap(call, event.filter, first);
    }
  }

  /** The client assumes an unbroken subscription, so it is notified of everything that may have changed. */
  async #announceGap(call: OpenRequest, filter: ListenFilter2026, first: ListenFilter2026): Promise<void> {
    const missing = missingFrom(filter, first);
    if (missing.length > 0) {
      await call.fail(`the server no longer announces ${missing.join(", ")}`);
      return call.close();
    }
    this.#options.log("listening again; changes since the interruption are announced now");
    for (const text of changeNotifications(first, call.id)) await this.#options.write(text);
  }
}

function toOutgoing(
  { id, method, params, revision = "", text }: LocalRequest,
  paramHeaders?: readonly ParamHeader[],
): PreparedRequest {
  return { id, method, text, headers: createHeaders2026(revision, { method, params }, paramHeaders) };
}

function isMismatch(response: ResponseMessage): boolean {
  return rpcErrorOf(response)?.code === HEADER_MISMATCH;
}

/** Notifications for everything that may have changed during the gap. */
function changeNotifications(filter: ListenFilter2026, subscription: MessageId): string[] {
  const _meta = { [META.subscriptionId]: subscription };
  const lists = Object.entries(LIST_CHANGED).filter(([list]) => filter[list as keyof typeof LIST_CHANGED] === true);
  return [
    ...lists.map(([, method]) => notification(method, { _meta })),
    ...(filter.resourceSubscriptions ?? []).map((uri) => notification(RESOURCE_UPDATED, { _meta, uri })),
  ];
}
