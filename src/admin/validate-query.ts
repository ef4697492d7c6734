// Validates the query parameters of a request. Unknown and repeated parameters are errors: a misspelt flag must not
// count as absent.

import type * as z from "zod";
import type { FieldRule } from "../tenants/document/tenant-document.ts";
import { validate, type Validation } from "./validate.ts";

/** The rule for every stored text. */
export const WELL_FORMED_RULE = "must be text without half of a surrogate pair";

/** The value has defaults. */
export function validateQuery<S extends z.ZodObject>(schema: S, search: string): Validation<z.output<S>> {
  const { shape } = schema;
  const errors: FieldRule[] = malformedParams(search);
  const query: Record<string, unknown> = {};
  for (const [name, pairs] of Map.groupBy(new URLSearchParams(search), ([param]) => param)) {
    const values = pairs.map(([, value]) => value);
    const type = Object.hasOwn(shape, name) ? typeOf(shape[name]) : undefined;
    if (type === undefined) errors.push({ field: name, rule: "is not a known parameter" });
    else if (type === "array") query[name] = values;
    else if (values.length > 1) errors.push({ field: name, rule: "must be given once" });
    else query[name] = parseParam(type, values[0] ?? "");
  }
  return errors.length > 0 ? { errors } : validate(schema, query);
}

interface ParameterDef {
  readonly type: string;
  readonly format?: string;
  /** The wrapped schema of an optional value, or of a list. */
  readonly innerType?: z.core.$ZodType;
  readonly out?: z.core.$ZodType;
}

/** The type of a parameter's value, if present. */
function typeOf(schema: z.core.$ZodType | undefined): string | undefined {
  const def: ParameterDef | undefined = schema?._zod.def;
  const inner = def?.innerType ?? def?.out;
  if (inner) return typeOf(inner);
  return def?.format === "safeint" ? "integer" : def?.type;
}

const BOOLEAN_TEXTS: Readonly<Record<string, boolean>> = { "1": true, true: true, "0": false, false: false };

/** Parameters with a lone surrogate, which decoding would replace with other characters. */
function malformedParams(search: string): FieldRule[] {
  const malformed = search
    .slice(1)
    .split("&")
    .filter((pair) => /%ed%[ab]/i.test(pair));
  return malformed.map((pair) => ({ field: [...new URLSearchParams(pair).keys()][0] ?? "", rule: WELL_FORMED_RULE }));
}

/** JavaScript's `Number` also accepts `0x10`, `1e2`, whitespace and the empty text. */
const DECIMAL_PATTERNS = { integer: /^\d+$/, number: /^\d+(?:\.\d+)?$/ } as const;

/** Converts a parameter's text to the type of its schema. Unconvertible text stays text, and the schema rejects it. */
function parseParam(type: string, text: string): unknown {
  if (type === "number" || type === "integer") return DECIMAL_PATTERNS[type].test(text) ? Number(text) : text;
  return type === "boolean" && Object.hasOwn(BOOLEAN_TEXTS, text) ? BOOLEAN_TEXTS[text] : text;
}
