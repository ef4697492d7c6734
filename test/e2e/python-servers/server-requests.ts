// What is asked of the servers of test/foreign/python: by the official clients, directly and through a gateway, and by the
// recorder, whose recordings are what a stand-in answers.

import type { Json } from "../../support/mcp-client.ts";

export type Era = "2025" | "2026";

export interface ServerRequest {
  readonly method: string;
  readonly params: Json;
}

/** What a person answers to a question of the server; "refused": the client knows no such question. */
export const ANSWERS = {
  accept: { action: "accept", content: { name: "Ann", days: 3 } },
  decline: { action: "decline" },
} as const;
export type Answer = keyof typeof ANSWERS;

export const call = (name: string, args: Json = {}): ServerRequest => ({
  method: "tools/call",
  params: { name, arguments: args },
});
const read = (uri: string): ServerRequest => ({ method: "resources/read", params: { uri } });
const list = (method: string): ServerRequest => ({ method, params: {} });
const complete = (ref: Json, value: string, name = "title"): ServerRequest => ({
  method: "completion/complete",
  params: { ref, argument: { name, value } },
});

const PROMPT = { type: "ref/prompt", name: "review" };
const TEMPLATE = { type: "ref/resource", uri: "books://book/{title}" };
const DUNE = { title: "Dune" };

export const LISTS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"].map(list);

/** Each is answered the same in both eras. */
export const PLAIN: readonly ServerRequest[] = [
  call("shelf"),
  call("find", DUNE),
  call("find"),
  call("burn", DUNE),
  read("books://shelf"),
  read("books://cover"),
  read("books://book/Dune"),
  { method: "prompts/get", params: { name: "review", arguments: DUNE } },
  { method: "prompts/get", params: { name: "review", arguments: { title: "Emma", tone: "short" } } },
  complete(PROMPT, ""),
  complete(PROMPT, "du"),
  complete(PROMPT, "x"),
  complete(PROMPT, "", "tone"),
  complete(TEMPLATE, "e"),
];

export const STEPS = call("slow_steps");
export const LOGS = call("write_log");
export const VISITS = call("count_visits");
/** It asks in the middle of the call, as servers of era 2025 do. */
export const LEND = call("lend", DUNE);
/** It asks as the era of the call does; SDK 2.x alone has it. */
export const LEND_IN_ANY_ERA = call("lend_in_any_era", DUNE);
export const PUSH = call("push");

/** What nobody asks twice with the same answer in mind: `_meta` and what the server gave to be handed back are left out. */
export function keyOf(era: Era, { method, params }: ServerRequest): string {
  const { _meta, requestState: _handedBack, ...rest } = params;
  const isLogged = (_meta as Json | undefined)?.["io.modelcontextprotocol/logLevel"] !== undefined;
  // A completion without a context, a call without arguments: some clients say so.
  const said = Object.entries(rest).filter(([, value]) => JSON.stringify(value) !== "{}");
  const about = Object.fromEntries(said.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  return `${era} ${method}${said.length === 0 ? "" : ` ${JSON.stringify(about)}`}${isLogged ? " with logs" : ""}`;
}
