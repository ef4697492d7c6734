// Owns 2026 messages: each request is an exchange of its own, and what a client listens to outlives its connection.
// Refuses to repeat a call that may have run, and to let a subscription go deaf without a word.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http

import { everythingChanged, keepListening, missingFrom } from "../listen.ts";
import { isObject, META, repeatedHeaders, sendMcp, type McpAnswer, type Received } from "../mcp-http.ts";
import type { Call } from "./calls.ts";
import { ToolSchemas } from "./tool-schemas.ts";
import { isAnswerTo, isResponse, type Sent } from "./wire.ts";
import { answering, refusalOf, type Wiring } from "./wiring.ts";

const HEADER_MISMATCH = -32020;

export class Stateless2026 {
  readonly #wiring: Wiring;
  readonly #schemas: ToolSchemas;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
    this.#schemas = new ToolSchemas(wiring);
  }

  async request(call: Call): Promise<void> {
    const { method } = call.sent;
    await answering(this.#wiring, call, async () => {
      if (method === "subscriptions/listen") await this.#listen(call);
      else if (method === "tools/call") await this.#callTool(call);
      else await this.#relay(call, await this.#post(call.sent, call.signal));
    });
    call.close();
  }

  async tell(sent: Sent): Promise<void> {
    const answer = await this.#post(sent, this.#wiring.signal);
    if (answer.status >= 400) this.#wiring.log(`${sent.method}: ${refusalOf(this.#wiring, answer)}`);
    await answer.messages[Symbol.asyncIterator]().return?.();
  }

  async #post(sent: Sent, signal: AbortSignal, mirrored: Readonly<Record<string, string>> = {}): Promise<McpAnswer> {
    const { method, params, revision = "", text } = sent;
    const headers = { ...repeatedHeaders(revision, method, params), ...mirrored };
    return sendMcp(this.#wiring.place, { method: "POST", headers, body: text, signal });
  }

  async #callTool(call: Call): Promise<void> {
    const mirrored = await this.#schemas.headersFor(call.sent);
    const refused = await this.#relay(call, await this.#post(call.sent, call.signal, mirrored), isMismatch);
    if (!refused) return;
    // The tool has changed since it was listed; refused before it ran, it may be called again.
    await this.#schemas.ask(call.sent);
    const fresh = await this.#schemas.headersFor(call.sent);
    if (JSON.stringify(fresh) === JSON.stringify(mirrored)) return call.answer(refused);
    await this.#relay(call, await this.#post(call.sent, call.signal, fresh));
  }

  /** To the response, which `keep` may hold back. */
  async #relay(
    call: Call,
    answer: McpAnswer,
    keep: (received: Received) => boolean = () => false,
  ): Promise<Received | undefined> {
    for await (const received of answer.messages) {
      if (!call.isOpen) return undefined;
      if (!isResponse(received.message)) await this.#pass(received);
      else if (isAnswerTo(call.id, received.message)) {
        if (keep(received)) return received;
        await call.answer(call.sent.method === "tools/list" ? this.#schemas.learn(received) : received);
        return undefined;
      }
    }
    throw new Error(refusalOf(this.#wiring, answer));
  }

  /** A 2026 server asks inside of results only. */
  async #pass({ message, text }: Received): Promise<void> {
    if (message.id === undefined) await this.#wiring.write(text);
  }

  async #listen(call: Call): Promise<void> {
    const wiring = this.#wiring;
    const { signal } = call;
    const _meta = { [`${META}subscriptionId`]: call.id };
    const ended = await keepListening({
      signal,
      open: async () => this.#post(call.sent, signal),
      notified: async (received) => (call.isOpen ? this.#pass(received) : undefined),
      acknowledged: async (received, filter, first) => {
        if (first === undefined) return this.#pass(received);
        const missing = missingFrom(filter, first);
        if (missing.length > 0) {
          await call.fail(`the server no longer announces ${missing.join(", ")}`);
          return call.close();
        }
        wiring.log("listening again; what changed meanwhile is announced now");
        for (const one of everythingChanged(first, _meta)) await wiring.write(JSON.stringify(one));
      },
      dropped: (why, waitMs) => wiring.log(`${why}; listening again in ${waitMs / 1000} s`),
    });
    if (ended === undefined) return;
    if (ended.response === undefined) throw new Error(refusalOf(wiring, ended.answer));
    await call.answer(ended.response);
  }
}

function isMismatch({ message }: Received): boolean {
  return isObject(message.error) && message.error.code === HEADER_MISMATCH;
}
