// Hears every answer that clients of a test get, whichever client it is: status, errors of ours in the body, and how
// long it took. Each request gets an id, under which the Worker writes down what failed meanwhile.

import { encodeHeader, type Json } from "../../support/mcp-client.ts";

export interface ObservedAnswer {
  readonly id: string;
  readonly origin: string;
  /** `2025 tools/call lab_echo`, `admin PUT document`, `gateway tools/call`. */
  readonly what: string;
  /** 0: the connection was lost, or whoever asked left. */
  readonly status: number;
  readonly retryAfter: string | null;
  /** What of the body says that it failed; "" where nothing does. */
  readonly fault: string;
  /** Milliseconds since the epoch. */
  readonly begun: number;
  readonly ended: number;
}

/** Of errors that no client made, in JSON or events; and of tools that failed. */
const FAULTS = /"code":-32603[^}]*|"isError":true/;
/** What a stream has told before is not looked at again. */
const LOOKED_AT = 65_536;

/** Calls `hear` for every answer from one of these origins, when it has ended. Gives what ends that. */
export function hearAnswers(isOurs: (origin: string) => boolean, hear: (answer: ObservedAnswer) => void): () => void {
  const plain = globalThis.fetch;
  let last = 0;
  globalThis.fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (!isOurs(url.origin) || url.pathname.startsWith("/__")) return plain(input, init);
    const id = `${process.pid}-${(last += 1)}`;
    const headers = new Headers(init?.headers);
    headers.set("x-chaos-id", encodeHeader(id));
    const about = { id, origin: url.origin, what: whatIs(url, init ?? {}, headers), begun: Date.now() };
    const over = (status: number, retryAfter: string | null, fault: string) =>
      hear({ ...about, status, retryAfter, fault, ended: Date.now() });
    try {
      const response = await plain(input, { ...init, headers });
      const retryAfter = response.headers.get("retry-after");
      if (!response.body) {
        over(response.status, retryAfter, "");
        return response;
      }
      const body = response.body.pipeThrough(
        looking(response.status >= 500, (fault) => over(response.status, retryAfter, fault)),
      );
      return new Response(body, response);
    } catch (error) {
      over(0, null, String(error));
      throw error;
    }
  };
  return () => {
    globalThis.fetch = plain;
  };
}

/** Hands on what comes; says once what of it is a fault: when it is, or at the end. */
function looking(isError: boolean, say: (fault: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let text = "";
  let isSaid = false;
  const once = (fault: string) => {
    if (!isSaid) say(fault);
    isSaid = true;
  };
  return new TransformStream({
    transform: (bytes, controller) => {
      text = (text + decoder.decode(bytes, { stream: true })).slice(-LOOKED_AT);
      const fault = FAULTS.exec(text);
      if (fault) once(text.slice(fault.index, fault.index + 300));
      controller.enqueue(bytes);
    },
    flush: () => once(isError ? text.slice(0, 300) : ""),
  });
}

function whatIs({ pathname, searchParams }: URL, { method = "GET", body }: RequestInit, headers: Headers): string {
  const [, first = "", ...rest] = pathname.split("/");
  if (first === "admin") {
    const [, , , ...below] = rest;
    return `admin ${method} ${[rest[1], ...below.map((part) => (/^[a-z-]{3,}$/.test(part) ? part : "…"))].join("/")}`;
  }
  if (first === "gateway") return `gateway ${messageOf(body)}`;
  const era = headers.get("mcp-protocol-version") === "2026-07-28" ? "2026" : "2025";
  const where = searchParams.has("sessionId") ? "HTTP+SSE" : era;
  return method === "POST" ? `${where} ${messageOf(body)}` : `${where} ${method}`;
}

function messageOf(body: unknown): string {
  if (typeof body !== "string") return "?";
  try {
    const message = JSON.parse(body) as Json;
    if (Array.isArray(message)) return "batch";
    const { method = "answer", params = {} } = message as { method?: string; params?: Json };
    return method === "tools/call" ? `${method} ${String(params["name"])}` : method;
  } catch {
    return "?";
  }
}
