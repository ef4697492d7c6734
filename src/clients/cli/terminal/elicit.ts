// Owns answering a tool's questions at the terminal: forms field by field, and addresses to open. Refuses to invent
// answers.
// https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation

import type { ServerQuestion } from "../../../mcp-client/questions.ts";
import type { JsonObject } from "../../../protocol/jsonrpc.ts";
import { oneLine } from "./printable.ts";
import { ask, type Terminal } from "./terminal.ts";

interface Field {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly items?: Field;
}

/** Undefined for questions that a person at a terminal cannot answer, such as sampling. */
export async function answerAtTerminal(
  { method, params }: Pick<ServerQuestion, "method" | "params">,
  terminal: Terminal,
): Promise<JsonObject | undefined> {
  return method === "elicitation/create" ? answer(params, terminal) : undefined;
}

async function answer(params: JsonObject, terminal: Terminal): Promise<JsonObject> {
  terminal.stderr.write(`${typeof params.message === "string" ? params.message : ""}\n`);
  if (params.mode === "url") {
    const reply = await ask(terminal, `Open ${oneLine(String(params.url))} and come back. Done? [y/N] `);
    return { action: isYes(reply) ? "accept" : "decline" };
  }
  const schema = (params.requestedSchema ?? {}) as { properties?: Record<string, Field>; required?: string[] };
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return { action: isYes(await ask(terminal, "[y/N] ")) ? "accept" : "decline", content: {} };
  terminal.stderr.write("(an empty answer leaves a field out or takes its default; ! declines)\n");
  // A name is the server's choice: as a member of a plain object, `__proto__` would be lost.
  const content = new Map<string, unknown>();
  for (const [key, field] of fields) {
    const reply = await askField(key, field, schema.required?.includes(key) === true, terminal);
    if (reply === DECLINED) return { action: "decline" };
    if (reply !== undefined) content.set(key, reply);
  }
  return { action: "accept", content: Object.fromEntries(content) };
}

const DECLINED = Symbol("declined");

async function askField(key: string, field: Field, required: boolean, terminal: Terminal): Promise<unknown> {
  const about = [field.title ?? key, field.description, hintOf(field), required ? "required" : undefined];
  const reply = await ask(terminal, `${oneLine(about.filter(Boolean).join(", "))}: `);
  if (reply === "!" || (reply === "" && required && field.default === undefined)) return DECLINED;
  return reply === "" ? field.default : valueOf(reply, field);
}

function hintOf({ type, enum: choices, items }: Field): string | undefined {
  const options = choices ?? items?.enum;
  if (options) return `${options.join(" | ")}${type === "array" ? ", comma-separated" : ""}`;
  return type === "boolean" ? "y/n" : undefined;
}

/** What does not fit the schema is sent as it was typed: the server knows the rule and asks again. */
function valueOf(reply: string, { type }: Field): unknown {
  if (type === "boolean") return /^(?:y|yes|true|1)$/i.test(reply);
  if (type === "array") return reply.split(",").map((item) => item.trim());
  const number = type === "number" || type === "integer" ? Number(reply) : Number.NaN;
  return Number.isFinite(number) ? number : reply;
}

function isYes(reply: string): boolean {
  return /^y(?:es)?$/i.test(reply);
}
