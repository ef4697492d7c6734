// The founding documents as data: the messages of vectors.json, and the language in which they say what an acceptable
// answer is.

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { Json } from "../support/mcp-client.ts";

export type Assertion = readonly [path: string, operator: string, wanted?: unknown];

export interface Vector {
  readonly document: string;
  readonly line: number;
  readonly name: string;
  readonly to: string;
  readonly modes: readonly string[];
  readonly request: unknown;
  /** The bytes to send, where they are no JSON. */
  readonly raw?: string;
  readonly assert?: readonly Assertion[];
  /** In place of `assert` in mode 2026-07-28. */
  readonly assert2026?: readonly Assertion[];
}

/** What an answer is looked at for. */
export interface Observed {
  readonly status: number;
  readonly text: string;
  /** The response, after the notifications if there were any. */
  readonly message: Json | undefined;
}

export const VECTORS = JSON.parse(readFileSync(new URL("vectors.json", import.meta.url), "utf8")) as readonly Vector[];

export function titleOf({ document, line, name }: Vector): string {
  return `${document}:${line} ${name}`;
}

export function vectorOf(title: string): Vector {
  const found = VECTORS.find((vector) => titleOf(vector) === title);
  if (!found) throw new Error(`vectors.json has no ${title}`);
  return found;
}

/** Its message, for those that are one object. */
export function messageOf(title: string): Json {
  return vectorOf(title).request as Json;
}

/** What is wrong with the answer to a vector in a mode; empty when it is acceptable. */
export function problemsOf(vector: Vector, mode: string, observed: Observed): string[] {
  const assertions = (mode === "2026-07-28" ? vector.assert2026 : undefined) ?? vector.assert ?? [];
  const problems = assertions
    .filter((assertion) => !isStatusOfEra2026(assertion, mode, assertions))
    .flatMap((assertion) => problemOf(assertion, observed));
  if (observed.status >= 500) problems.push(`HTTP ${observed.status}`);
  if (/\n\s+at .+:\d+:\d+/.test(observed.text)) problems.push("shows a stack");
  return problems;
}

/** Era 2026 answers some JSON-RPC errors with an HTTP status of their own, which the vectors leave open. */
function isStatusOfEra2026([path, , wanted]: Assertion, mode: string, all: readonly Assertion[]): boolean {
  return mode === "2026-07-28" && path === "status" && wanted === 200 && all.some(([other]) => other === "error.code");
}

function problemOf([path, operator, wanted]: Assertion, { status, text, message }: Observed): string[] {
  const test = OPERATORS[operator];
  if (!test) throw new Error(`vectors.json uses an unknown operator: ${operator}`);
  const found = path === "status" ? [status] : path === "body" ? [text] : valuesAt(message, path);
  if (test(found, wanted)) return [];
  const shown = JSON.stringify(found[0])?.slice(0, 200) ?? "nothing";
  return [`${path} ${operator} ${wanted === undefined ? "" : JSON.stringify(wanted)}, but it is ${shown}`];
}

const STEP = /([^.[\]]+)|\[([^=\]]+)=([^\]]*)\]/g;

/** `a.0.b`; `*` stands for every element of an array, `[name=x]` for the element whose member says so. */
function valuesAt(root: unknown, path: string): unknown[] {
  let values = [root];
  for (const [, member, key, value] of path.matchAll(STEP)) {
    if (member === "*") values = values.flatMap(elementsOf);
    else if (member !== undefined) values = values.map((one) => memberOf(one, member));
    else values = values.map((one) => elementsOf(one).find((element) => memberOf(element, key ?? "") === value));
  }
  return values;
}

const elementsOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Json)[name];
}

const ISO_UTC = /^\d{4}-\d\d-\d\dT.*Z$/;

const OPERATORS: Readonly<Record<string, (found: unknown[], wanted: unknown) => boolean>> = {
  eq: ([value], wanted) => isDeepStrictEqual(value, wanted),
  in: ([value], wanted) => elementsOf(wanted).some((one) => isDeepStrictEqual(value, one)),
  absent: ([value]) => value === undefined,
  array: ([value]) => Array.isArray(value),
  object: ([value]) => typeof value === "object" && value !== null && !Array.isArray(value),
  string: ([value]) => typeof value === "string" && value !== "",
  number: ([value]) => typeof value === "number",
  contains: ([value], wanted) => typeof value === "string" && value.includes(String(wanted)),
  notTrue: ([value]) => value !== true,
  empty: ([value]) => value === "",
  unique: (values) => values.length > 0 && new Set(values).size === values.length,
  includes: (values, wanted) => elementsOf(wanted).every((one) => values.includes(one)),
  iso8601IfPresent: (values) =>
    values.every((value) => value === undefined || (typeof value === "string" && ISO_UTC.test(value))),
};
