// Servers in the place of those of test/foreign/python, where nothing has them: what was recorded of the real ones is
// answered, in sessions as theirs are. What was not recorded is answered 599, so that a test says what it asked.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as bodyOf } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import type { Json } from "../../support/mcp-client.ts";
import { keyOf, type Answer } from "./server-requests.ts";
import type { Recording, RecordedAnswer } from "./recording.ts";

interface Session {
  readonly id: string;
  /** How often each was asked. */
  readonly asked: Map<string, number>;
  /** A question waits for its answer. */
  answered?: (answer: Answer | "refused") => void;
  /** Over HTTP+SSE. */
  stream?: ServerResponse;
  hasFallen?: boolean;
}

export class StandIn {
  readonly #recording: Recording;
  readonly #sessions = new Map<string, Session>();
  #port = 0;
  readonly #server = createServer((request, response) => void this.#take(request, response));

  constructor(recording: Recording) {
    this.#recording = recording;
  }

  get #isSse(): boolean {
    return "POST to the stream" in this.#recording;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/${this.#isSse ? "sse" : "mcp"}`;
  }

  async start(): Promise<this> {
    // Else Node says a header of its own.
    this.#server.keepAliveTimeout = 0;
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** As a process that has died, and another one: nobody knows the sessions any more. */
  async restart(): Promise<void> {
    this.#server.closeAllConnections();
    this.#sessions.clear();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const message = (body === "" ? {} : JSON.parse(body)) as Json;
    if (this.#isSse) return this.#takeSse(request, response, message);
    const verb = request.method ?? "";
    const is2026 = request.headers["mcp-protocol-version"] === "2026-07-28";
    // A session for each that has none, as the real one begins it, and never hears of it again.
    if (verb === "OPTIONS") return this.#say(response, this.#said("OPTIONS"), { session: this.#begin() });
    if (is2026) return this.#say(response, this.#said(this.#key("2026", message)), { session: this.#begin(), message });
    const given = request.headers["mcp-session-id"];
    const isBegun = verb === "POST" && message["method"] === "initialize";
    const session = isBegun || this.#isStateless ? this.#begin() : this.#sessions.get(String(given));
    const missing = given === undefined ? (verb === "POST" ? "no session" : `${verb} no session`) : "unknown session";
    if (session === undefined) return this.#say(response, this.#said(missing), { session: this.#begin(), message });
    if (verb === "DELETE") this.#sessions.delete(session.id);
    if (verb !== "POST")
      return this.#say(response, this.#said(this.#isStateless ? `${verb} no session` : verb), { session });
    await this.#answer(response, session, message);
  }

  /** It hands out no sessions: nobody is refused for having none. */
  get #isStateless(): boolean {
    return this.#said("2025 initialize").headers.every(([name]) => name !== "mcp-session-id");
  }

  #begin(): Session {
    const session = { id: randomUUID().replaceAll("-", ""), asked: new Map<string, number>() };
    this.#sessions.set(session.id, session);
    return session;
  }

  async #answer(response: ServerResponse, session: Session, message: Json): Promise<void> {
    if (message["method"] === undefined) {
      session.answered?.(answerIn(message));
      return this.#say(response, this.#said("2025 an answer"), { session });
    }
    const key = this.#key("2025", message);
    const isRequest = message["id"] !== undefined;
    const said = session.hasFallen && isRequest ? this.#said("fallen") : this.#said(key, session);
    if (key.includes('"push"')) setTimeout(() => (session.hasFallen = true), 200);
    this.#say(response, said, { session, message });
  }

  #key(era: "2025" | "2026", { method, params = {} }: Json): string {
    return keyOf(era, { method: String(method), params: method === "initialize" ? {} : (params as Json) });
  }

  #said(key: string, session?: Session): RecordedAnswer {
    const found = this.#recording[key];
    if (found === undefined)
      return { status: 599, headers: [["content-type", "text/plain"]], body: `not recorded: ${key}` };
    if (!Array.isArray(found)) return found as RecordedAnswer;
    const times = session?.asked.get(key) ?? 0;
    session?.asked.set(key, times + 1);
    return (found as readonly RecordedAnswer[])[Math.min(times, found.length - 1)] as RecordedAnswer;
  }

  #say(response: ServerResponse, said: RecordedAnswer, about: { session?: Session; message?: Json }): void {
    const filled = (text: string) => this.#filled(text, about);
    response.writeHead(
      said.status,
      said.headers.flatMap(([name, value]) => [name, filled(value)]),
    );
    response.flushHeaders();
    const { after, isOpen } = said;
    if (after && about.session) {
      about.session.answered = (answer) => void tell(response, filled(after[answer])).then(() => response.end());
    }
    void tell(response, filled(said.body)).then(() => (after || isOpen ? undefined : response.end()));
  }

  #filled(text: string, { session, message = {} }: { session?: Session; message?: Json }): string {
    const { _meta } = (message["params"] ?? {}) as { _meta?: Json };
    return text
      .replaceAll("{{id}}", JSON.stringify(message["id"] ?? null))
      .replaceAll("{{token}}", JSON.stringify(_meta?.["progressToken"] ?? 0))
      .replaceAll("{{state}}", "v1.a-state")
      .replaceAll("{{session}}", session?.id ?? "");
  }

  async #takeSse(request: IncomingMessage, response: ServerResponse, message: Json): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://127.0.0.1");
    if (request.method === "OPTIONS") return this.#say(response, this.#said("OPTIONS"), {});
    if (request.method === "GET") {
      const session = this.#begin();
      session.stream = response;
      response.once("close", () => this.#sessions.delete(session.id));
      return this.#say(response, this.#said("GET"), { session });
    }
    if (pathname === "/sse") return this.#say(response, this.#said("POST to the stream"), {});
    const session = this.#sessions.get(searchParams.get("session_id") ?? "");
    if (session === undefined) return this.#say(response, this.#said("unknown session"), {});
    if (message["method"] === undefined) {
      this.#say(response, { ...this.#said("2025 notifications/initialized"), body: "Accepted" }, {});
      return session.answered?.(answerIn(message));
    }
    const said = this.#said(this.#key("2025", message), session);
    const [taken = "", ...notifications] = said.body.split("\n");
    const { after: _later, ...now } = said;
    this.#say(response, { ...now, body: taken }, {});
    const { after } = said;
    const tellFilled = (text: string) => void tell(session.stream, this.#filled(text, { session, message }));
    if (after) session.answered = (answer) => tellFilled(after[answer]);
    tellFilled(notifications.join("\n"));
  }
}

const END = "\r\n\r\n";
const BETWEEN_MS = 20;

/** One event after another: a client that gets all at once loses progress. */
async function tell(stream: ServerResponse | undefined, text: string): Promise<void> {
  const parts = text.split(END);
  for (const [at, part] of parts.entries()) {
    if (at > 0) await wait(BETWEEN_MS);
    const isLast = at === parts.length - 1;
    if (part !== "" || !isLast) stream?.write(isLast ? part : `${part}${END}`);
  }
}

function answerIn({ result }: Json): Answer | "refused" {
  const { action } = (result ?? {}) as { action?: Answer };
  return action ?? "refused";
}
