// Reads a JSON body within a size and a depth, and rejects ambiguous input before anything looks at it. Parsers
// disagree on repeated members, and no storage keeps lone surrogates.

import { countContainers } from "../mcp-client/json-text.ts";
import { MAX_CONTAINERS } from "../protocol/jsonrpc.ts";
import { MESSAGE_MIN_RATE, RequestBody } from "../streams/request-body.ts";
import { throwBodyError, invalidFields, ProblemError, unreadBodyProblem } from "./problem.ts";
import { WELL_FORMED_RULE } from "./validate-query.ts";

const MAX_JSON_BYTES = 2 * 1024 * 1024;
const MAX_DEPTH = 64;

export async function readJson(request: Request): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new ProblemError("unsupported-media-type", { detail: "Content-Type must be application/json" });
  }
  const text = await readJsonText(request);
  if (countContainers(text, MAX_CONTAINERS) > MAX_CONTAINERS) {
    throw new ProblemError("too-large", { detail: `A JSON body has at most ${MAX_CONTAINERS} objects and lists` });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text around the mistake, which may be the value of a secret.
    throw new ProblemError("bad-request", { detail: "The body is not valid JSON" });
  }
  checkJsonText(text);
  if (!isStorable(value)) throw invalidFields(["", "must not have a number that is too large, such as 1e400"]);
  return value;
}

async function readJsonText(request: Request): Promise<string> {
  const body = new RequestBody(request, MESSAGE_MIN_RATE);
  try {
    const state = await body.read(MAX_JSON_BYTES).catch(throwBodyError);
    const tooLarge = new ProblemError("too-large", { detail: `A JSON body has at most ${MAX_JSON_BYTES} bytes` });
    if (state !== "whole") throw unreadBodyProblem(state, tooLarge);
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body.bytes);
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    throw new ProblemError("bad-request", { detail: "The body is not UTF-8" });
  } finally {
    body.release();
  }
}

interface OpenContainer {
  /** The names of an object's members so far; undefined: the container is an array. */
  readonly keys: Set<string> | undefined;
  /** The name or the index of the member or element that is being read. */
  position: string | number;
}

const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/** Only an escape can encode a lone surrogate: UTF-8 cannot. */
const SURROGATE_ESCAPE = /\\ud[89a-f]/i;

/**
 * Rejects repeated names, deep nesting and lone surrogates, in one pass over brackets and strings. `text` must be
 * JSON.
 */
function checkJsonText(text: string): void {
  const path: OpenContainer[] = [];
  let last = "";
  for (const [token] of text.matchAll(JSON_TOKEN)) {
    if (token !== ":") checkWellFormed(path, last);
    if (token === "{" || token === "[") {
      if (path.length === MAX_DEPTH) throw invalidFields([pathOf(path), `nests deeper than ${MAX_DEPTH} levels`]);
      path.push({ keys: token === "{" ? new Set() : undefined, position: 0 });
    } else if (token === "}" || token === "]") path.pop();
    else if (token === ":") addMemberName(path, last);
    else if (token === ",") nextElement(path.at(-1));
    last = token;
  }
}

/** A number that is too large parses as Infinity, and would be stored as null. */
function isStorable(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(isStorable);
}

function nextElement(container: OpenContainer | undefined): void {
  if (typeof container?.position === "number") container.position += 1;
}

/** `token`: a string as JSON source, with quotes and escapes. */
function checkWellFormed(path: readonly OpenContainer[], token: string): void {
  if (SURROGATE_ESCAPE.test(token) && !(JSON.parse(token) as string).isWellFormed()) {
    throw invalidFields([pathOf(path), WELL_FORMED_RULE]);
  }
}

function addMemberName(path: OpenContainer[], token: string): void {
  const container = path.at(-1);
  if (!container?.keys) return;
  checkWellFormed(path, token);
  const key = JSON.parse(token) as string;
  container.position = key;
  if (key === "__proto__") throw invalidFields([pathOf(path), "is not allowed as a name"]);
  if (container.keys.has(key)) throw invalidFields([pathOf(path), "appears twice"]);
  container.keys.add(key);
}

function pathOf(path: readonly OpenContainer[]): string {
  return path.map(({ position: at }) => String(at)).join(".");
}
