// Answers a tool's questions at the terminal: form fields, and URLs to open. An invalid or empty answer asks again
// and never counts as declining, which has a word of its own.
// https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation

import type { ServerQuestion } from "../../mcp-client/question-dispatcher.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { inputHint, parseFieldAnswer, type FormField } from "./form-field.ts";
import { oneLine } from "./printable.ts";
import { ask, askOrEnd, type Terminal } from "./terminal.ts";

/** undefined for questions that a person at a terminal cannot answer, such as sampling. */
export async function answerAtTerminal(
  { method, params }: Pick<ServerQuestion, "method" | "params">,
  terminal: Terminal,
): Promise<JsonObject | undefined> {
  return method === "elicitation/create" ? answerRequest(params, terminal) : undefined;
}

async function answerRequest(params: JsonObject, terminal: Terminal): Promise<JsonObject> {
  terminal.stderr.write(`${typeof params.message === "string" ? params.message : ""}\n`);
  if (params.mode === "url") {
    const reply = await ask(terminal, `Open ${oneLine(String(params.url))} and come back. Done? [y/N] `);
    return { action: isYes(reply) ? "accept" : "decline" };
  }
  const schema = (params.requestedSchema ?? {}) as { properties?: Record<string, FormField>; required?: string[] };
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return { action: isYes(await ask(terminal, "[y/N] ")) ? "accept" : "decline", content: {} };
  terminal.stderr.write(`(an empty answer leaves a field out or takes its default; ${DECLINE} or Ctrl-D declines)\n`);
  // The server chooses the names: a plain object would lose a member `__proto__`.
  const content = new Map<string, unknown>();
  for (const [key, field] of fields) {
    const reply = await askField(key, field, schema.required?.includes(key) === true, terminal);
    if (reply === DECLINED) return { action: "decline" };
    if (reply !== undefined) content.set(key, reply);
  }
  return { action: "accept", content: Object.fromEntries(content) };
}

const DECLINE = ":decline";
const DECLINED = Symbol("declined");

async function askField(key: string, field: FormField, required: boolean, terminal: Terminal): Promise<unknown> {
  const parts = [field.title ?? key, field.description, inputHint(field), required ? "required" : undefined];
  const question = `${oneLine(parts.filter(Boolean).join(", "))}: `;
  for (;;) {
    const reply = await askOrEnd(terminal, question);
    if (reply === undefined || reply === DECLINE) return DECLINED;
    if (reply === "" && (!required || field.default !== undefined)) return field.default;
    const parsed = reply === "" ? { wrong: "an answer is required" } : parseFieldAnswer(reply, field);
    if ("value" in parsed) return parsed.value;
    terminal.stderr.write(`${oneLine(`${key}: ${parsed.wrong}; ${DECLINE} declines the form`)}\n`);
  }
}

function isYes(reply: string): boolean {
  return /^y(?:es)?$/i.test(reply);
}
