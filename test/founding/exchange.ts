// How a message of the founding documents travels, word for word, in each mode of the vectors: `bare` with a Content-
// Type and nothing else, in a session of a revision, or with the _meta of 2026-07-28. Every answer is also held
// against the official schema of its revision.

import { expectOfficial } from "../support/official-schema.ts";
import { encodeHeader, post, type Json, type Reply } from "../support/mcp-client.ts";
import { sendRaw } from "../support/raw-http.ts";
import type { Observed } from "./vectors.ts";

const BOTH = "application/json, text/event-stream";
const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

export interface Literal {
  readonly message: unknown;
  /** Sent in place of the message. */
  readonly raw?: string | undefined;
}

/** Sends literal messages to one endpoint, with one session per revision. */
export function createExchange(url: string): (literal: Literal, mode: string) => Promise<Observed> {
  const sessions = new Map<string, Promise<Session>>();
  return async (literal, mode) => {
    if (mode === "bare") return sendBare(url, literal);
    if (mode === "2026-07-28") return sendWithMeta(url, literal);
    const session = sessions.get(mode) ?? openSession(url, mode);
    sessions.set(mode, session);
    return sendInSession(url, literal, await session);
  };
}

const bodyOf = ({ message, raw }: Literal): string => raw ?? JSON.stringify(message);

function methodOf(message: unknown): { method?: string } {
  const method = (message as Json | null)?.method;
  return typeof method === "string" ? { method } : {};
}

async function sendBare(url: string, literal: Literal): Promise<Observed> {
  const body = bodyOf(literal);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const { status, headers: answered, text } = await sendRaw(url, { headers, body });
  if (text === "") return { status, text, message: undefined };
  if (answered["content-type"] !== "application/json") throw new Error(`answered ${answered["content-type"]}`);
  const message = JSON.parse(text) as Json;
  return observe(bareRevision(message), literal, { status, text, messages: [message] });
}

/** The documents get their id of null back, for which the schema of 2026-07-28 has only leaving the id out. */
function observe(revision: string, { message: asked }: Literal, reply: Pick<Reply, "status" | "text" | "messages">) {
  const { status, text, messages } = reply;
  const nullId = revision === "2026-07-28" && (asked as Json | null)?.id === null;
  for (const { id, ...rest } of messages) {
    const judged = id === undefined || (nullId && id === null) ? rest : { ...rest, id };
    expectOfficial(revision, judged, {
      direction: "server",
      ...methodOf(judged.method === undefined ? asked : judged),
    });
  }
  return { status, text, message: messages.at(-1) };
}

/** Without a header a request is taken for 2025-03-26; `initialize` says itself what follows. */
function bareRevision(message: Json): string {
  const answered = (message.result as Json | undefined)?.protocolVersion;
  return typeof answered === "string" ? answered : "2025-03-26";
}

interface Session {
  readonly revision: string;
  readonly headers: Record<string, string>;
}

/** `asked` may be no revision at all, such as "1.0". */
async function openSession(url: string, asked: string): Promise<Session> {
  const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: "founding", version: "1" } };
  const begun = await post(url, { jsonrpc: "2.0", id: 0, method: "initialize", params }, { headers: { accept: BOTH } });
  const revision = String(begun.result.protocolVersion);
  const headers = {
    accept: BOTH,
    "mcp-session-id": begun.headers.get("mcp-session-id") ?? "",
    ...(asked >= "2025-06-18" ? { "mcp-protocol-version": revision } : {}),
  };
  await post(url, { jsonrpc: "2.0", method: "notifications/initialized" }, { headers });
  return { revision, headers };
}

async function sendInSession(url: string, literal: Literal, { revision, headers }: Session): Promise<Observed> {
  return observe(revision, literal, await post(url, bodyOf(literal), { headers }));
}

async function sendWithMeta(url: string, { message, raw }: Literal): Promise<Observed> {
  const revision = "2026-07-28";
  const { method } = methodOf(message);
  const whole = method === undefined ? message : withMeta(message as Json, revision);
  const subject = ((message as Json | null)?.params as Json | undefined)?.[NAMED[method ?? ""] ?? ""];
  const headers = {
    accept: BOTH,
    "mcp-protocol-version": revision,
    ...(method === undefined ? {} : { "mcp-method": method }),
    ...(typeof subject === "string" ? { "mcp-name": encodeHeader(subject) } : {}),
  };
  return observe(revision, { message }, await post(url, bodyOf({ message: whole, raw }), { headers }));
}

function withMeta(message: Json, revision: string): Json {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": { name: "founding", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return { ...message, params: { ...(message.params as Json | undefined), _meta } };
}
