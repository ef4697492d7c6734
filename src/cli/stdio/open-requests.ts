// The local client's unanswered requests: each gets one answer, or none once cancelled. Bounded in number and size.

import { deferred } from "./deferred.ts";
import type { ResponseMessage } from "../../mcp-client/message.ts";
import type { MessageId } from "../../protocol/jsonrpc.ts";
import { oneLine } from "../terminal/printable.ts";
import { errorText, responseText, type LocalRequest } from "./local-message.ts";

const MAX_REQUESTS = 1000;
const MAX_CHARACTERS = 64 * 1024 * 1024;

type Respond = (text?: string) => Promise<void>;

export class OpenRequest {
  readonly id: MessageId;
  readonly request: LocalRequest;
  readonly #requests: OpenRequests;
  readonly #abort = new AbortController();
  readonly signal: AbortSignal;
  /** Receives the answer; called without a text if the request ends without one. */
  readonly respond: Respond;

  constructor(requests: OpenRequests, request: LocalRequest, bridgeSignal: AbortSignal, respond: Respond) {
    this.id = request.id;
    this.request = request;
    this.respond = respond;
    this.#requests = requests;
    this.signal = AbortSignal.any([this.#abort.signal, bridgeSignal]);
  }

  get isOpen(): boolean {
    return this.#requests.has(this);
  }

  async answer(response: ResponseMessage): Promise<void> {
    await this.#requests.end(this, responseText(this.id, response));
  }

  async fail(why: string): Promise<void> {
    await this.#requests.end(this, errorText(this.id, oneLine(why)));
  }

  /** A cancelled request gets no answer, not even an error. */
  async cancel(): Promise<void> {
    await this.#requests.end(this);
    this.#abort.abort();
  }

  /** Ends the HTTP exchange. Does not answer the request. */
  close(): void {
    this.#abort.abort();
  }
}

export class OpenRequests {
  readonly #open = new Set<OpenRequest>();
  readonly #bridgeSignal: AbortSignal;
  #characters = 0;
  #idle = deferred();

  constructor(bridgeSignal: AbortSignal) {
    this.#bridgeSignal = bridgeSignal;
  }

  /** undefined if too many requests are open. */
  begin(request: LocalRequest, respond: Respond): OpenRequest | undefined {
    if (this.#open.size >= MAX_REQUESTS || this.#characters + request.text.length > MAX_CHARACTERS) return undefined;
    const call = new OpenRequest(this, request, this.#bridgeSignal, respond);
    this.#open.add(call);
    this.#characters += request.text.length;
    return call;
  }

  find(id: unknown): OpenRequest | undefined {
    return [...this.#open].find((call) => call.id === id);
  }

  has(call: OpenRequest): boolean {
    return this.#open.has(call);
  }

  async end(call: OpenRequest, text?: string): Promise<void> {
    if (!this.#open.delete(call)) return;
    this.#characters -= call.request.text.length;
    await call.respond(text);
    this.#idle.resolve();
    this.#idle = deferred();
  }

  /** Settles when all requests are answered except subscriptions, which stay open as long as the client runs. */
  async drained(): Promise<void> {
    while ([...this.#open].some(({ request: sent }) => sent.method !== "subscriptions/listen"))
      await this.#idle.promise;
  }
}
