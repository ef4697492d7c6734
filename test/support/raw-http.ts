// Plain HTTP for tests that must send what no proper client sends: any method, any header, any bytes, a closed
// connection.

import {
  request,
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { logExchange } from "./exchange-log.ts";
import { encodeHeader, type Json } from "./mcp-client.ts";

export interface RawRequest {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Several chunks are sent without a Content-Length. */
  readonly body?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** The body is begun and never ended: the server has to answer before it has everything. */
  readonly unfinished?: boolean;
  /** A stream that would not end is left after its first event. */
  readonly standing?: boolean;
  readonly agent?: Agent;
}

export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Opened {
  readonly response: IncomingMessage;
  /** Ends the connection without waiting for anything. */
  readonly close: () => void;
}

/** Starts a request; `begun` resolves when the head of the answer is there. `finish`: the rest of an unfinished body. */
export function startRaw(url: string, { method = "POST", headers = {}, body, unfinished, agent }: RawRequest) {
  const whole = typeof body === "string" || body instanceof Uint8Array;
  // Node frames no body by itself for methods that rarely have one, and the next request would be read out of it.
  const framing = whole ? { "content-length": Buffer.byteLength(body) } : {};
  const sent = request(url, { method, headers: { ...framing, ...headers }, ...(agent === undefined ? {} : { agent }) });
  const begun = new Promise<Opened>((resolve, reject) => {
    sent.once("response", (response) => resolve({ response, close: () => sent.destroy() }));
    sent.on("error", reject);
  });
  if (whole) sent.end(body);
  else {
    for (const chunk of body ?? []) sent.write(chunk);
    if (unfinished !== true) sent.end();
  }
  const finish = (rest: string) => {
    sent.end(rest);
  };
  return { begun, finish, close: () => sent.destroy() };
}

export async function sendRaw(url: string, options: RawRequest = {}): Promise<RawReply> {
  const { begun, close } = startRaw(url, options);
  const { response } = await begun;
  response.setEncoding("utf8");
  let text = "";
  const stands = options.standing === true && (response.headers["content-type"] ?? "").startsWith("text/event-stream");
  for await (const part of response) {
    text += part as string;
    if (stands && /^data:.*\n\n/m.test(text)) break;
  }
  if (options.unfinished === true || stands) close();
  const status = response.statusCode ?? 0;
  logExchange({ method: options.method ?? "POST", url, body: options.body }, { status, text });
  return { status, headers: response.headers, text };
}

/** The messages of an SSE answer as they come; comments are left out. */
export async function* messagesOf(response: IncomingMessage): AsyncGenerator<Json> {
  response.setEncoding("utf8");
  let text = "";
  for await (const part of response) {
    text += part as string;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data: "));
      if (data.length > 0) yield JSON.parse(data.map((line) => line.slice(6)).join("\n")) as Json;
    }
  }
}

export interface Written {
  readonly headers: Record<string, string>;
  readonly body: Json;
}

const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

/** A sessionless request as a proper client of the revision writes it. */
export function write(revision: string, method: string, params: Json = {}, id: unknown = 1): Written {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": revision,
  };
  const call = { jsonrpc: "2.0", ...(id === undefined ? {} : { id }), method };
  if (revision !== "2026-07-28") return { headers, body: { ...call, params } };
  const { _meta, ...rest } = params;
  const subject = params[NAMED[method] ?? ""];
  return {
    headers: {
      ...headers,
      "mcp-method": method,
      ...(typeof subject === "string" ? { "mcp-name": encodeHeader(subject) } : {}),
    },
    body: {
      ...call,
      params: {
        ...rest,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": revision,
          "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
          ...(_meta as Json | undefined),
        },
      },
    },
  };
}
