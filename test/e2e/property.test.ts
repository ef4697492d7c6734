// Whatever is sent, the Worker answers soon, with a status below 500, with JSON-RPC that the official schema knows, under
// the id that was asked with, and never with a stack.

import { Agent } from "node:http";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { shot, type Shot } from "./property/hostile-requests.ts";
import { client2026, type Json } from "../support/mcp-client.ts";
import { officialViolations } from "../support/official-schema.ts";
import { sendRaw, type RawReply } from "../support/raw-http.ts";
import { STACK } from "../support/refusal.ts";
import { SEED } from "../support/seed.ts";
import { sized } from "../support/tier.ts";

const origin = fixtureOrigin();
const VOLLEY = 100;
const VOLLEYS = sized({ usual: 50, long: 200 });
const REQUESTS = VOLLEY * VOLLEYS;
const AT_ONCE = 12;
const ANSWER_WITHIN_MS = 10_000;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
/** JSON carries larger numbers, but not exactly. */
const isId = (value: unknown) => typeof value === "string" || Number.isSafeInteger(value);

function messagesOf(reply: RawReply): Json[] {
  const type = reply.headers["content-type"] ?? "";
  if (type.startsWith("text/event-stream")) {
    const data = reply.text.split("\n").filter((line) => line.startsWith("data: "));
    return data.flatMap((line) => [JSON.parse(line.slice(6))].flat() as Json[]);
  }
  return type === "application/json" && reply.text !== "" ? ([JSON.parse(reply.text)].flat() as Json[]) : [];
}

/** The body as the Worker reads it; undefined when it is no JSON. */
function bodyOf({ body }: Shot): unknown {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: !isCutCharacter(bytes) }).decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}

/** Of bytes that are no UTF-8, the one kind that is read: a character of four bytes without its last, as U+FFFD (docs/decisions/0019-speed-and-costs.md). */
function isCutCharacter(bytes: Uint8Array): boolean {
  const isSmall = bytes.byteLength <= 64 * 1024;
  return isSmall && Buffer.byteLength(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)) === bytes.byteLength;
}

const CLAIM = "io.modelcontextprotocol/protocolVersion";
const claims = (body: unknown) =>
  isObject(body) && isObject(body.params) && isObject(body.params._meta) && Object.hasOwn(body.params._meta, CLAIM);

/** Era 2026 has neither sessions nor events with ids: whoever asks for the stream of one speaks 2025, whatever they say. */
const asksForStream = ({ method, headers }: Shot) =>
  method === "GET" && ("mcp-session-id" in headers || "last-event-id" in headers);

/** Refusals before the body is read say the era of the header, later ones that of the message. */
function revisionsOf(sent: Shot, body: unknown): string[] {
  if (sent.proper) return [sent.proper.revision];
  if (asksForStream(sent)) return ["2026-07-28", "2025-11-25"];
  if (sent.headers["mcp-protocol-version"] === "2026-07-28") return ["2026-07-28"];
  return claims(body) ? ["2026-07-28", "2025-11-25"] : ["2025-11-25"];
}

/** What speaks no JSON-RPC: pages for people, health, and the admin API with its problems. */
const isPage = ({ method, path }: Shot, reply: RawReply) =>
  method === "HEAD" ||
  (path.startsWith("/admin") && reply.headers["content-type"] === "application/problem+json") ||
  path === "/healthz" ||
  reply.headers["content-type"]?.startsWith("text/html") === true;

/** The transport of 2024-11-05 opens one for every GET that wants it. */
const isStream = ({ method }: Shot, reply: RawReply) =>
  method === "GET" && reply.headers["content-type"] === "text/event-stream";
const ENDPOINT = /\nevent: endpoint\ndata: \/mcp\/\S+\n\n/;

function faultOf(sent: Shot, reply: RawReply): string | undefined {
  if (reply.status >= 500 || reply.status < 200) return "status";
  if (STACK.test(reply.text)) return "a stack";
  if (isStream(sent, reply)) return ENDPOINT.test(reply.text) ? undefined : "no endpoint";
  if (reply.status === 202 || reply.status === 204) return reply.text === "" ? undefined : "a body";
  return isPage(sent, reply) ? undefined : answerFault(sent, reply);
}

function answerFault(sent: Shot, reply: RawReply): string | undefined {
  const messages = messagesOf(reply);
  if (messages.length === 0) return "no message";
  const body = bodyOf(sent);
  const fault = messages.map((message) => messageFault(message, sent, body)).find(Boolean);
  if (fault !== undefined) return fault;
  if (sent.proper && !("result" in (messages.at(-1) ?? {}))) return "no result";
  const answers = messages.filter((message) => !("method" in message));
  return Array.isArray(body) ? batchFault(body, answers) : idFault(reply, body, answers);
}

function messageFault(message: Json, sent: Shot, body: unknown): string | undefined {
  const context = sent.proper ? { direction: "server" as const, method: sent.proper.method } : undefined;
  // A request under the id null is answered under the id null, though no schema has it.
  const judged = message.id === null && isObject(body) && body.id === null ? { ...message, id: 0 } : message;
  const notifications = revisionsOf(sent, body).map((revision) => officialViolations(revision, judged, context));
  return notifications.some((violations) => violations.length === 0)
    ? undefined
    : `no valid message: ${notifications.flat().join("; ")}`;
}

function batchFault(body: readonly unknown[], answers: readonly Json[]): string | undefined {
  const asked = new Set(body.map((item) => (isObject(item) ? item.id : undefined)));
  return answers.every(({ id }) => id === null || id === undefined || asked.has(id)) ? undefined : "an id of nobody";
}

const BEFORE_THE_BODY = new Set([401, 403, 404, 405, 406, 413, 415]);

/** An id that was legal comes back, unless the request was refused without a look at its body. */
function idFault(reply: RawReply, body: unknown, answers: readonly Json[]): string | undefined {
  const [answer, ...others] = answers;
  if (!answer || others.length > 0) return `${answers.length} answers`;
  const asked = isObject(body) ? body.id : undefined;
  if (answer.id !== null && answer.id !== undefined) return answer.id === asked ? undefined : "another id";
  const unread = BEFORE_THE_BODY.has(reply.status) || reply.text.includes("nested deeper");
  return unread || !isId(asked) ? undefined : "an id that is not echoed";
}

const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

function describeShot(sent: Shot): string {
  const body = typeof sent.body === "string" ? sent.body : `base64 ${Buffer.from(sent.body).toString("base64")}`;
  return `${sent.method} ${sent.path}\n${JSON.stringify(sent.headers)}\n${body.slice(0, 4000)}`;
}

async function fire(sent: Shot, counts: Map<string, number>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ANSWER_WITHIN_MS} ms`)), ANSWER_WITHIN_MS);
  });
  try {
    const { method, headers, body } = sent;
    const standing = method === "GET";
    const reply = await Promise.race([sendRaw(origin + sent.path, { method, headers, body, agent, standing }), late]);
    const fault = faultOf(sent, reply);
    if (fault !== undefined) throw new Error(`${fault}: ${reply.status} ${reply.text.slice(0, 2000)}`);
    const kind = `${reply.status}${reply.text.includes('"result":') ? " with a result" : ""}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  } catch (error) {
    throw new Error(`${String(error)}\nto ${describeShot(sent)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function untold(shots: readonly Shot[]): readonly Shot[] {
  return Object.assign(shots, { [fc.toStringMethod]: () => `${shots.length} requests` });
}

async function fireAll(shots: readonly Shot[], counts: Map<string, number>): Promise<void> {
  const left = [...shots];
  const worker = async () => {
    for (let next = left.pop(); next; next = left.pop()) await fire(next, counts);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const title = `${REQUESTS.toLocaleString("en")} hostile and proper requests of both eras are answered as they deserve`;
test(title, { timeout: 400_000 }, async () => {
  const counts = new Map<string, number>();
  const start = performance.now();
  // The error shows the one request that failed: nothing is gained by shrinking its neighbours, or by showing them.
  const volley = fc.array(shot, { minLength: VOLLEY, maxLength: VOLLEY }).map(untold);
  await fc.assert(
    fc.asyncProperty(volley, (shots) => fireAll(shots, counts)),
    { ...SEED, numRuns: VOLLEYS, endOnFailure: true },
  );
  agent.destroy();
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  const notifications = [...counts]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([kind, count]) => `${count} × ${kind}`);
  console.log(`${total} requests in ${seconds} s, seed ${SEED.seed}: ${notifications.join(", ")}`);
  expect(total).toBeGreaterThanOrEqual(REQUESTS);
  // A mix in which nothing gets through, or everything, would show little.
  for (const kind of ["200", "200 with a result", "202", "400", "404", "403", "405", "406", "415"]) {
    expect(counts.get(kind) ?? 0, kind).toBeGreaterThan(kind === "200 with a result" ? REQUESTS / 4 : 20);
  }
});

test("resources with hostile names are listed beside those that the requests stored, by messages that the schema knows", async () => {
  const client = client2026(`${origin}/mcp/rough`);
  const names = ["__proto__", "\r\nX: y", "\u202e", "a/../b", "<b>", " "];
  // How many of the requests above store something is a matter of luck.
  const uris = Array.from({ length: 21 }, (_none, at) => `lab://junk/listed-${at}`);
  for (const [at, uri] of uris.entries()) {
    const name = names[at % names.length];
    const { result } = await client.request("tools/call", { name: "lab_write", arguments: { uri, name, text: name } });
    expect(result.isError, JSON.stringify(result)).not.toBe(true);
  }
  const listed = new Set<unknown>();
  let cursor: unknown;
  do {
    const { result, error } = await client.request("resources/list", cursor === undefined ? {} : { cursor });
    expect(error).toBeUndefined();
    for (const { uri } of result.resources as Json[]) listed.add(uri);
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  expect(uris.filter((uri) => !listed.has(uri))).toEqual([]);
});
