// Owns reading a JSON body: within a size and a depth, without members that name something twice, which parsers resolve
// each in their own way, and without halves of surrogate pairs, which no storage keeps. Refuses before anything is looked at.

import { containersIn } from "../mcp-client/json-text.ts";
import { MAX_CONTAINERS } from "../protocol/jsonrpc.ts";
import { MESSAGE_PACE, RequestBody } from "../streams/request-body.ts";
import { endedEarly, invalidFields, ProblemError, unreadBody } from "./problem.ts";

export const MAX_JSON_BYTES = 2 * 1024 * 1024;
/** How many objects and arrays may stand inside each other. */
const MAX_DEPTH = 64;

export async function readJson(request: Request): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new ProblemError("unsupported-media-type", { detail: "Content-Type must be application/json" });
  }
  const text = await readText(request);
  if (containersIn(text, MAX_CONTAINERS) > MAX_CONTAINERS) {
    throw new ProblemError("too-large", { detail: `A JSON body has at most ${MAX_CONTAINERS} objects and lists` });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own words quote what stands around the mistake, which may be the value of a secret.
    throw new ProblemError("bad-request", { detail: "The body is not JSON" });
  }
  checkMembers(text);
  if (!isStorable(value)) throw invalidFields(["", "has a number that is too large, such as 1e400"]);
  return value;
}

async function readText(request: Request): Promise<string> {
  const body = new RequestBody(request, MESSAGE_PACE);
  try {
    const state = await body.read(MAX_JSON_BYTES).catch(endedEarly);
    const tooLarge = new ProblemError("too-large", { detail: `A JSON body has at most ${MAX_JSON_BYTES} bytes` });
    if (state !== "whole") throw unreadBody(state, tooLarge);
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body.bytes);
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    throw new ProblemError("bad-request", { detail: "The body is not UTF-8" });
  } finally {
    body.release();
  }
}

interface Open {
  /** The names that an object had so far; undefined: it is an array. */
  readonly keys: Set<string> | undefined;
  /** The name or the number of the member or element that is being read. */
  at: string | number;
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/** Only as an escape: what is UTF-8 has no half of a pair in it. */
const SURROGATE = /\\ud[89a-f]/i;
/** The rule for every text that is stored. */
export const WHOLE_TEXT = "must be text without half of a surrogate pair";

/** Refuses repeated names, deep nesting and broken texts, in one pass over brackets and strings. `text` must be JSON. */
function checkMembers(text: string): void {
  const path: Open[] = [];
  let last = "";
  for (const [token] of text.matchAll(TOKEN)) {
    if (token !== ":") checkText(path, last);
    if (token === "{" || token === "[") {
      if (path.length === MAX_DEPTH) throw invalidFields([fieldOf(path), `nests deeper than ${MAX_DEPTH} levels`]);
      path.push({ keys: token === "{" ? new Set() : undefined, at: 0 });
    } else if (token === "}" || token === "]") path.pop();
    else if (token === ":") addKey(path, last);
    else if (token === ",") toNext(path.at(-1));
    last = token;
  }
}

/** What is too large is Infinity here, and would be null where it is stored. */
function isStorable(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(isStorable);
}

function toNext(inside: Open | undefined): void {
  if (typeof inside?.at === "number") inside.at += 1;
}

/** `token`: as JSON writes it. */
function checkText(path: readonly Open[], token: string): void {
  if (SURROGATE.test(token) && !(JSON.parse(token) as string).isWellFormed()) {
    throw invalidFields([fieldOf(path), WHOLE_TEXT]);
  }
}

function addKey(path: Open[], token: string): void {
  const inside = path.at(-1);
  if (!inside?.keys) return;
  checkText(path, token);
  const key = JSON.parse(token) as string;
  inside.at = key;
  if (key === "__proto__") throw invalidFields([fieldOf(path), "is not a name that can be used"]);
  if (inside.keys.has(key)) throw invalidFields([fieldOf(path), "is there twice"]);
  inside.keys.add(key);
}

function fieldOf(path: readonly Open[]): string {
  return path.map(({ at }) => String(at)).join(".");
}
