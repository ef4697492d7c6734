// Owns one life of a 2025 session: what its requests must carry, and beginning a new one as the client began the first.

import { ACCEPT_BOTH, isObject, sendMcp, type Json, type McpAnswer } from "../mcp-http.ts";
import type { Remembered } from "./remembered.ts";
import { isResponse } from "./wire.ts";
import { refusalOf, type Wiring } from "./wiring.ts";

export interface Life {
  readonly id: string | undefined;
  readonly revision: string;
  /** What the client said in `initialize`. */
  readonly hello: Json;
  readonly end: AbortController;
}

let ownIds = 0;

export function lifeOf(hello: Json, result: Json, { headers }: McpAnswer): Life {
  const revision = typeof result.protocolVersion === "string" ? result.protocolVersion : "";
  return { id: headers.get("mcp-session-id") ?? undefined, revision, hello, end: new AbortController() };
}

export function headersOf(life: Life | undefined): Record<string, string> {
  return {
    accept: ACCEPT_BOTH,
    ...(life?.id !== undefined && { "mcp-session-id": life.id }),
    ...(life !== undefined && life.revision !== "" && { "mcp-protocol-version": life.revision }),
  };
}

export async function postIn(
  life: Life | undefined,
  text: string,
  { place, signal }: Pick<Wiring, "place" | "signal">,
): Promise<McpAnswer> {
  return sendMcp(place, { method: "POST", headers: headersOf(life), body: text, signal });
}

export async function beginAgain(lost: Life, remembered: Remembered, wiring: Wiring): Promise<Life> {
  const { answer, result } = await ask("initialize", lost.hello, undefined, wiring);
  if (!result) throw new Error(`the session is lost, and no new one is given: ${refusalOf(wiring, answer)}`);
  const life = lifeOf(lost.hello, result, answer);
  if (life.revision !== lost.revision) wiring.log(`the new session speaks ${life.revision}, not ${lost.revision}`);
  await postIn(life, JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }), wiring);
  for (const { method, params } of remembered.replay()) {
    const repeated = await ask(method, params, life, wiring);
    if (!repeated.result) wiring.log(`${method} could not be repeated in the new session`);
  }
  return life;
}

async function ask(
  method: string,
  params: Json,
  life: Life | undefined,
  wiring: Wiring,
): Promise<{ answer: McpAnswer; result: Json | undefined }> {
  const id = `tenantry-${(ownIds += 1)}`;
  const answer = await postIn(life, JSON.stringify({ jsonrpc: "2.0", id, method, params }), wiring);
  for await (const { message } of answer.messages) {
    if (isResponse(message)) return { answer, result: isObject(message.result) ? message.result : undefined };
  }
  return { answer, result: undefined };
}
