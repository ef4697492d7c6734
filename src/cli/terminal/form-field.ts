// One field of a form at the terminal: its hint and the parsing of its answer. Rules that only the server can check,
// such as patterns, are left to the server.
// https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema

export interface FormField {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly oneOf?: readonly Choice[];
  readonly anyOf?: readonly Choice[];
  readonly items?: FormField;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

interface Choice {
  readonly const: string;
  readonly title?: string;
}

/** `wrong`: the rule that the answer breaks, as the end of a sentence. */
export type ParsedAnswer = { readonly value: unknown } | { readonly wrong: string };

export function inputHint(field: FormField): string | undefined {
  const { type, items } = field;
  const choices = choicesOf(field) ?? (items && choicesOf(items));
  if (choices) return `${choices.join(" | ")}${type === "array" ? ", comma-separated" : ""}`;
  if (type === "boolean") return "y/n";
  return type === "number" || type === "integer" ? type : field.format;
}

/** Converts the typed text to the field's type. */
export function parseFieldAnswer(reply: string, field: FormField): ParsedAnswer {
  if (field.type === "boolean") return parseBoolean(reply);
  if (field.type === "number" || field.type === "integer") return parseNumber(reply, field);
  if (field.type === "array") return parseItems(reply, field);
  return parseText(reply, field);
}

function parseBoolean(reply: string): ParsedAnswer {
  if (/^(?:y|yes|true|1)$/i.test(reply)) return { value: true };
  return /^(?:n|no|false|0)$/i.test(reply) ? { value: false } : { wrong: "must be y or n" };
}

function parseNumber(reply: string, { type, minimum, maximum }: FormField): ParsedAnswer {
  const value = Number(reply);
  if (!Number.isFinite(value)) return { wrong: "must be a number" };
  if (type === "integer" && !Number.isInteger(value)) return { wrong: "must be a whole number" };
  return checkRange({ value }, value, [minimum, maximum], "");
}

function parseItems(reply: string, { items = {}, minItems, maxItems }: FormField): ParsedAnswer {
  const value = reply.split(",").map((item) => item.trim());
  for (const item of value) {
    const parsed = parseFieldAnswer(item, items);
    if ("wrong" in parsed) return { wrong: `${item}: ${parsed.wrong}` };
  }
  return checkRange({ value }, value.length, [minItems, maxItems], " choices");
}

function parseText(reply: string, field: FormField): ParsedAnswer {
  const choices = choicesOf(field);
  if (choices) return choices.includes(reply) ? { value: reply } : { wrong: `must be one of ${choices.join(", ")}` };
  const { format = "", minLength, maxLength } = field;
  const rule = FORMATS[format];
  if (rule && !rule.matches(reply)) return { wrong: `must be ${rule.name}` };
  return checkRange({ value: reply }, Array.from(reply).length, [minLength, maxLength], " characters");
}

function checkRange(
  answer: ParsedAnswer,
  size: number,
  [min, max]: readonly (number | undefined)[],
  unit: string,
): ParsedAnswer {
  if (min !== undefined && size < min) return { wrong: `must be at least ${min}${unit}` };
  if (max !== undefined && size > max) return { wrong: `must be at most ${max}${unit}` };
  return answer;
}

function choicesOf({ enum: plain, oneOf, anyOf }: FormField): readonly string[] | undefined {
  return plain ?? (oneOf ?? anyOf)?.map((choice) => choice.const);
}

/** No stricter than any server, which may still refuse an accepted value. */
const FORMATS: Readonly<Record<string, { readonly name: string; readonly matches: (text: string) => boolean }>> = {
  email: { name: "an address such as ada@example.com", matches: (text) => /^[^\s@]+@[^\s@]+$/.test(text) },
  uri: { name: "a URI such as https://example.com", matches: (text) => URL.canParse(text) },
  date: {
    name: "a date such as 2026-07-28",
    matches: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  },
  "date-time": {
    name: "a time such as 2026-07-28T09:00:00Z",
    matches: (text) => /^\d{4}-\d\d-\d\d[Tt ]/.test(text) && !Number.isNaN(Date.parse(text)),
  },
};
