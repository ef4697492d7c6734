// Owns 2026 messages: each request is an exchange of its own, and what a client listens to outlives its connection.
// Refuses to repeat a call that may have run, and to hide that a subscription may have missed something.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http

import { McpFault } from "../../../mcp-client/fault.ts";
import {
  LIST_CHANGED,
  listen2026,
  missingFrom,
  RESOURCE_UPDATED,
  type ListenEvent,
  type SubscriptionFilter,
} from "../../../mcp-client/listen-2026.ts";
import { rpcErrorOf, type ResponseMessage } from "../../../mcp-client/message.ts";
import { headers2026, type Outgoing } from "../../../mcp-client/outgoing.ts";
import { send2026, tell2026 } from "../../../mcp-client/stateless-2026.ts";
import { errorCode } from "../../../protocol/errors.ts";
import type { ParamHeader } from "../../../protocol/headers.ts";
import { notification, type RequestId } from "../../../protocol/jsonrpc.ts";
import { META } from "../../../protocol/meta.ts";
import { dropReason, mcpReason } from "../terminal/mcp-problem.ts";
import type { LocalCall } from "./calls.ts";
import type { LocalNotification, LocalRequest, LocalResponse } from "./local-message.ts";
import { ToolSchemas } from "./tool-schemas.ts";
import { answering, logRefusal, type Wiring } from "./wiring.ts";

const HEADER_MISMATCH = errorCode("headerMismatch", "2026");

export class Bridge2026 {
  readonly #wiring: Wiring;
  readonly #schemas: ToolSchemas;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
    this.#schemas = new ToolSchemas(wiring);
  }

  async request(call: LocalCall): Promise<void> {
    const { method } = call.sent;
    await answering(this.#wiring, call, async () => {
      if (method === "subscriptions/listen") await this.#listen(call);
      else if (method === "tools/call") await this.#callTool(call);
      else await this.#relay(call, outgoing(call.sent));
    });
    call.close();
  }

  async tell({ method, params, revision = "", text }: LocalNotification | LocalResponse): Promise<void> {
    const { endpoint, signal, log } = this.#wiring;
    try {
      await tell2026(endpoint, { headers: headers2026(revision, { method, params }), text }, { signal });
    } catch (error) {
      if (!signal.aborted) log(`${method}: ${mcpReason(error, endpoint)}`);
    }
  }

  async #callTool(call: LocalCall): Promise<void> {
    const mirrored = await this.#schemas.mirroredBy(call.sent);
    const first = outgoing(call.sent, mirrored);
    const mismatch = await this.#relay(call, first, isMismatch);
    if (!mismatch) return;
    // The tool has changed since it was listed. The server refuses such a call before it runs, so it may be sent again.
    await this.#schemas.ask(call.sent);
    const second = outgoing(call.sent, await this.#schemas.mirroredBy(call.sent));
    if (JSON.stringify(second.headers) === JSON.stringify(first.headers)) return call.answer(mismatch);
    await this.#relay(call, second);
  }

  /** Passes on everything up to the response. A response that `keep` wants is returned and not passed on. */
  async #relay(
    call: LocalCall,
    request: Outgoing,
    keep: (response: ResponseMessage) => boolean = () => false,
  ): Promise<ResponseMessage | undefined> {
    const { messages, http } = await send2026(this.#wiring.endpoint, request, { signal: call.signal });
    for await (const message of messages) {
      if (!call.isOpen) continue;
      // Requests are dropped: servers of this era ask inside of results only.
      if (message.kind === "notification") await this.#wiring.write(message.text);
      if (message.kind !== "response") continue;
      if (keep(message)) return message;
      logRefusal(this.#wiring, request.method, message, http);
      await call.answer(request.method === "tools/list" ? this.#schemas.learn(message) : message);
    }
    return undefined;
  }

  async #listen(call: LocalCall): Promise<void> {
    const { endpoint } = this.#wiring;
    const options = { signal: call.signal, limits: endpoint.limits };
    let first: SubscriptionFilter | undefined;
    try {
      for await (const event of listen2026(endpoint, outgoing(call.sent), options)) {
        await this.#hear(call, event, first);
        if (event.kind === "listening") first ??= event.filter;
      }
    } catch (error) {
      if (!(error instanceof McpFault) || error.fault.kind !== "refused") throw error;
      logRefusal(this.#wiring, call.sent.method, error.fault.error, error.fault.http);
      await call.answer(error.fault.error);
    }
  }

  async #hear(call: LocalCall, event: ListenEvent, first: SubscriptionFilter | undefined): Promise<void> {
    const { write, log } = this.#wiring;
    if (!call.isOpen) return;
    switch (event.kind) {
      case "ended":
        return call.answer(event.message);
      case "notification":
        return write(event.message.text);
      case "dropped":
        return log(`${dropReason(event.fault)}; listening again in ${event.waitMs / 1000} s`);
      case "listening":
        return first === undefined ? write(event.message.text) : this.#listenAgain(call, event.filter, first);
    }
  }

  /** The client believes that it has listened all the time: so it is told of all that may have changed. */
  async #listenAgain(call: LocalCall, filter: SubscriptionFilter, first: SubscriptionFilter): Promise<void> {
    const missing = missingFrom(filter, first);
    if (missing.length > 0) {
      await call.fail(`the server no longer announces ${missing.join(", ")}`);
      return call.close();
    }
    this.#wiring.log("listening again; what changed meanwhile is announced now");
    for (const text of everythingChanged(first, call.id)) await this.#wiring.write(text);
  }
}

function outgoing(
  { id, method, params, revision = "", text }: LocalRequest,
  mirrored?: readonly ParamHeader[],
): Outgoing {
  return { id, method, text, headers: headers2026(revision, { method, params }, mirrored) };
}

function isMismatch(response: ResponseMessage): boolean {
  return rpcErrorOf(response)?.code === HEADER_MISMATCH;
}

/** What may have been missed while nobody listened. */
function everythingChanged(filter: SubscriptionFilter, subscription: RequestId): string[] {
  const _meta = { [META.subscriptionId]: subscription };
  const lists = Object.entries(LIST_CHANGED).filter(([list]) => filter[list as keyof typeof LIST_CHANGED] === true);
  return [
    ...lists.map(([, method]) => notification(method, { _meta })),
    ...(filter.resourceSubscriptions ?? []).map((uri) => notification(RESOURCE_UPDATED, { _meta, uri })),
  ];
}
