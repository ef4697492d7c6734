// What the servers of test/foreign/python said when they were asked, byte for byte, but for the date, what frames a
// body, and what is another one each time, which stands there by its name in two braces.

import { once } from "node:events";
import { request as send, type IncomingMessage } from "node:http";
import { text as bodyOf } from "node:stream/consumers";
import type { Json } from "../../support/mcp-client.ts";
import {
  ANSWERS,
  call,
  keyOf,
  LEND,
  LEND_IN_ANY_ERA,
  LISTS,
  LOGS,
  PLAIN,
  PUSH,
  STEPS,
  VISITS,
  type Answer,
  type ServerRequest,
  type Era,
} from "./server-requests.ts";

export interface RecordedAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** The stream stands open. */
  readonly isOpen?: true;
  /** It asked a question in the body, and went on so. */
  readonly after?: Readonly<Record<Answer | "refused", string>>;
}

/** By what was asked; of what is answered otherwise when a session asks again, all answers. */
export type Recording = Readonly<Record<string, RecordedAnswer | readonly RecordedAnswer[]>>;

export interface Recorded {
  readonly url: string;
  readonly eras: readonly Era[];
  /** It cannot ask its clients anything. */
  readonly isStateless?: boolean;
  /** Every request of a session is answered 500 once it is pushed. */
  readonly falls?: boolean;
}

const ID = 4711;
const TOKEN = "token-4711";
const ACCEPT = "application/json, text/event-stream";
const SILENT_MS = 1500;
const UNSAID = new Set(["date", "content-length", "transfer-encoding", "connection"]);
const ABOUT = { name: "recorder", version: "1" };
const VERSION: Readonly<Record<Era, string>> = { "2025": "2025-11-25", "2026": "2026-07-28" };
const META_2026 = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": ABOUT,
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
};

interface Sent {
  readonly verb?: string;
  readonly session?: string | undefined;
  readonly message?: Json;
  readonly era?: Era;
}

function headersOf({ verb = "POST", session, message, era = "2025" }: Sent): Record<string, string> {
  const is2026 = era === "2026" && message !== undefined;
  const { name, uri } = (message?.["params"] ?? {}) as { name?: string; uri?: string };
  return {
    accept: ACCEPT,
    ...(verb === "POST" ? { "content-type": "application/json" } : {}),
    ...(verb === "OPTIONS" ? { "access-control-request-method": "POST", origin: "http://localhost:6274" } : {}),
    ...(session === undefined ? {} : { "mcp-session-id": session }),
    ...(message !== undefined && message["method"] !== "initialize" ? { "mcp-protocol-version": VERSION[era] } : {}),
    ...(is2026 ? { "mcp-method": String(message["method"]) } : {}),
    ...(is2026 && (name ?? uri) !== undefined ? { "mcp-name": name ?? uri ?? "" } : {}),
  };
}

async function ask(url: string, sent: Sent): Promise<IncomingMessage> {
  const asking = send(url, { method: sent.verb ?? "POST", headers: headersOf(sent) });
  asking.end(sent.message === undefined ? undefined : JSON.stringify(sent.message));
  const [response] = (await once(asking, "response")) as [IncomingMessage];
  return response;
}

const sessionOf = ({ headers }: IncomingMessage) => headers["mcp-session-id"] as string | undefined;

/** In the place of what is another one each time, its name. */
function named(text: string, session: string | undefined): string {
  const plain = text
    .replaceAll(`"id":${ID}`, '"id":{{id}}')
    .replaceAll(`"${TOKEN}"`, "{{token}}")
    .replaceAll(/"requestState":"[^"]+"/g, '"requestState":"{{state}}"')
    .replaceAll(/session_id=[0-9a-f]{32}/g, "session_id={{session}}");
  return session === undefined ? plain : plain.replaceAll(session, "{{session}}");
}

function headOf(response: IncomingMessage): Pick<RecordedAnswer, "status" | "headers"> {
  const pairs = response.rawHeaders.flatMap((name, at, all) =>
    at % 2 === 0 ? [[name, all[at + 1] ?? ""] as const] : [],
  );
  const kept = pairs.filter(([name]) => !UNSAID.has(name.toLowerCase()));
  return {
    status: response.statusCode ?? 0,
    headers: kept.map(([name, value]) => [name, named(value, sessionOf(response))]),
  };
}

async function heard(url: string, sent: Sent): Promise<RecordedAnswer> {
  const response = await ask(url, sent);
  return { ...headOf(response), body: named(await bodyOf(response), sessionOf(response)) };
}

/** Until nothing is said for a while. */
async function opened(url: string, sent: Sent): Promise<RecordedAnswer> {
  const response = await ask(url, sent);
  let body = "";
  response.on("data", (chunk: Buffer) => (body += chunk.toString()));
  const isEnded = await Promise.race([once(response, "end").then(() => true), later(SILENT_MS)]);
  response.destroy();
  const said = { ...headOf(response), body: named(body, sessionOf(response)) };
  return isEnded ? said : { ...said, isOpen: true };
}

const later = (milliseconds: number) => new Promise<false>((resolve) => setTimeout(() => resolve(false), milliseconds));

interface Question {
  readonly id: number | string;
  readonly method?: string;
}

function questionIn(text: string): Question | undefined {
  const messages = [...text.matchAll(/^data: (\{.*\})\r?$/gm)].map(([, json = ""]) => JSON.parse(json) as Question);
  return messages.find(({ id, method }) => id !== undefined && method !== undefined);
}

const answerTo = ({ id }: Question, answer: Answer | "refused"): Json =>
  answer === "refused"
    ? { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }
    : { jsonrpc: "2.0", id, result: ANSWERS[answer] };

const messageOf = ({ method, params }: ServerRequest, meta: Json = {}): Json => ({
  jsonrpc: "2.0",
  id: ID,
  method,
  params: { ...params, _meta: { progressToken: TOKEN, ...meta } },
});

const initialize: Json = {
  jsonrpc: "2.0",
  id: ID,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: ABOUT },
};
const initialized: Json = { jsonrpc: "2.0", method: "notifications/initialized" };
const ping: ServerRequest = { method: "ping", params: {} };
const level: ServerRequest = { method: "logging/setLevel", params: { level: "debug" } };
const discover: ServerRequest = { method: "server/discover", params: {} };

/** A question in the middle of a call, with each answer. */
async function questioned(url: string, session: string | undefined, request: ServerRequest): Promise<RecordedAnswer> {
  const after: Record<string, string> = {};
  let first: RecordedAnswer | undefined;
  for (const answer of ["accept", "decline", "refused"] as const) {
    const response = await ask(url, { session, message: messageOf(request) });
    let body = "";
    let before = "";
    for await (const chunk of response as AsyncIterable<Buffer>) {
      body += chunk.toString();
      const question = before === "" ? questionIn(body) : undefined;
      if (question === undefined) continue;
      before = body;
      await bodyOf(await ask(url, { session, message: answerTo(question, answer) }));
    }
    // Each question of a session has another id.
    first ??= { ...headOf(response), body: named(before.replace(/"id":\d+(?=,"method"|\})/, '"id":0'), session) };
    after[answer] = named(body.slice(before.length), session);
  }
  if (first === undefined) throw new Error("nothing was answered");
  return { ...first, after: after as Record<Answer | "refused", string> };
}

async function record2025({
  url,
  isStateless = false,
  falls = false,
}: Recorded): Promise<Record<string, Recording[string]>> {
  const begun = await ask(url, { message: initialize });
  const session = sessionOf(begun);
  const of = (request: ServerRequest) => keyOf("2025", request);
  const said: Record<string, Recording[string]> = {
    "2025 initialize": { ...headOf(begun), body: named(await bodyOf(begun), session) },
    "2025 notifications/initialized": await heard(url, { session, message: initialized }),
    "no session": await heard(url, { message: messageOf(LISTS[0] ?? ping) }),
    "unknown session": await heard(url, { session: "nobody-knows", message: messageOf(LISTS[0] ?? ping) }),
    "GET no session": await opened(url, { verb: "GET" }),
    "DELETE no session": await heard(url, { verb: "DELETE" }),
    OPTIONS: await heard(url, { verb: "OPTIONS" }),
  };
  const options = falls ? [ping, ...LISTS, PUSH] : [ping, level, ...LISTS, ...PLAIN, STEPS, LOGS];
  for (const one of options) said[of(one)] = await heard(url, { session, message: messageOf(one) });
  // What nobody asked for is written down beside the answers, at any time.
  const unasked = { jsonrpc: "2.0", id: 99, result: {} };
  if (!falls) said["2025 an answer"] = await heard(url, { session, message: unasked });
  if (!isStateless && !falls) {
    const twice = [await heard(url, { session, message: messageOf(VISITS) })];
    twice.push(await heard(url, { session, message: messageOf(VISITS) }));
    said[of(VISITS)] = twice;
    said[of(LEND)] = await questioned(url, session, LEND);
    said["GET"] = await opened(url, { verb: "GET", session });
  }
  if (isStateless) said[of(VISITS)] = await heard(url, { message: messageOf(VISITS) });
  if (falls) {
    await later(SILENT_MS);
    said["fallen"] = await heard(url, { session, message: messageOf(call("shelf")) });
  }
  if (!isStateless) said["DELETE"] = await heard(url, { verb: "DELETE", session });
  return said;
}

async function record2026({ url, eras }: Recorded): Promise<Record<string, RecordedAnswer>> {
  const said: Record<string, RecordedAnswer> = {};
  const record = async (request: ServerRequest, meta: Json = {}) => {
    const message = messageOf(request, { ...META_2026, ...meta });
    const key = keyOf("2026", { ...request, params: { ...request.params, _meta: meta } });
    const one = await heard(url, { message, era: "2026" });
    said[key] = one;
    return one;
  };
  await record(discover);
  if (!eras.includes("2026")) return said;
  for (const one of [...LISTS, ...PLAIN, STEPS, LOGS, VISITS]) await record(one);
  await record(LOGS, { "io.modelcontextprotocol/logLevel": "debug" });
  await record({ method: "subscriptions/none", params: {} });
  if (!(await record(LEND_IN_ANY_ERA)).body.includes("inputRequests")) return said;
  for (const answer of ["accept", "decline"] as const) {
    const message = messageOf(LEND_IN_ANY_ERA, META_2026);
    const { result } = JSON.parse(await bodyOf(await ask(url, { message, era: "2026" }))) as { result: Json };
    const names = Object.keys(result["inputRequests"] as Json);
    const inputResponses = Object.fromEntries(names.map((name) => [name, ANSWERS[answer]]));
    const { requestState } = result;
    await record({ ...LEND_IN_ANY_ERA, params: { ...LEND_IN_ANY_ERA.params, inputResponses, requestState } });
  }
  return said;
}

export async function recordServer(server: Recorded): Promise<Recording> {
  const said = { ...(await record2026(server)), ...(await record2025(server)) };
  return Object.fromEntries(Object.entries(said).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Over HTTP+SSE: answers come on the stream that was opened first. */
export async function recordSse(url: string): Promise<Recording> {
  const stream = await ask(url, { verb: "GET" });
  let output = "";
  stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await later(SILENT_MS);
  const endpoint = new URL(/data: (\S+)/.exec(output)?.[1] ?? "", url).href;
  const recording: Record<string, Recording[string]> = {
    GET: { ...headOf(stream), body: named(output, undefined), isOpen: true },
    "POST to the stream": await heard(url, { message: messageOf(discover) }),
    OPTIONS: await heard(url, { verb: "OPTIONS" }),
    "unknown session": await heard(`${endpoint.slice(0, -32)}${"0".repeat(32)}`, { message: messageOf(ping) }),
  };
  const told = async (message: Json, until: (text: string) => boolean): Promise<RecordedAnswer> => {
    output = "";
    const taken = await heard(endpoint, { message });
    for (let waited = 0; !until(output) && waited < 100; waited += 1) await later(50);
    return { ...taken, body: `${taken.body}\n${named(output, undefined)}` };
  };
  const isAnswered = (text: string) => new RegExp(`"id":${ID}[,}]`).test(text) && text.endsWith("\r\n\r\n");
  recording["2025 initialize"] = await told(initialize, isAnswered);
  recording["2025 notifications/initialized"] = await told(initialized, () => true);
  for (const one of [discover, ping, level, ...LISTS, ...PLAIN, STEPS, LOGS])
    recording[keyOf("2025", one)] = await told(messageOf(one), isAnswered);
  recording[keyOf("2025", VISITS)] = [
    await told(messageOf(VISITS), isAnswered),
    await told(messageOf(VISITS), isAnswered),
  ];
  const after: Record<string, string> = {};
  let first: RecordedAnswer | undefined;
  for (const answer of ["accept", "decline", "refused"] as const) {
    first ??= await told(messageOf(LEND), (text) => questionIn(text) !== undefined);
    if (answer !== "accept") await told(messageOf(LEND), (text) => questionIn(text) !== undefined);
    const question = questionIn(output);
    if (question === undefined) throw new Error("it asked nothing");
    after[answer] = (await told(answerTo(question, answer), isAnswered)).body.replace(/^.*\n/, "");
  }
  if (first !== undefined)
    recording[keyOf("2025", LEND)] = { ...first, after: after as Record<Answer | "refused", string> };
  stream.destroy();
  return Object.fromEntries(Object.entries(recording).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
