// Owns one field of a form at the terminal: what a person is told that it takes, and whether what they type is that.
// Refuses to judge what only the server can, such as a pattern: the server says so itself.
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
export type Typed = { readonly value: unknown } | { readonly wrong: string };

export function hintOf(field: FormField): string | undefined {
  const { type, items } = field;
  const choices = choicesOf(field) ?? (items && choicesOf(items));
  if (choices) return `${choices.join(" | ")}${type === "array" ? ", comma-separated" : ""}`;
  if (type === "boolean") return "y/n";
  return type === "number" || type === "integer" ? type : field.format;
}

/** What a person typed, as the value that the field wants. */
export function typed(reply: string, field: FormField): Typed {
  if (field.type === "boolean") return booleanOf(reply);
  if (field.type === "number" || field.type === "integer") return numberOf(reply, field);
  if (field.type === "array") return listOf(reply, field);
  return textOf(reply, field);
}

function booleanOf(reply: string): Typed {
  if (/^(?:y|yes|true|1)$/i.test(reply)) return { value: true };
  return /^(?:n|no|false|0)$/i.test(reply) ? { value: false } : { wrong: "must be y or n" };
}

function numberOf(reply: string, { type, minimum, maximum }: FormField): Typed {
  const value = Number(reply);
  if (!Number.isFinite(value)) return { wrong: "must be a number" };
  if (type === "integer" && !Number.isInteger(value)) return { wrong: "must be a whole number" };
  return withinOr({ value }, value, [minimum, maximum], "");
}

function listOf(reply: string, { items = {}, minItems, maxItems }: FormField): Typed {
  const value = reply.split(",").map((item) => item.trim());
  for (const item of value) {
    const one = typed(item, items);
    if ("wrong" in one) return { wrong: `${item}: ${one.wrong}` };
  }
  return withinOr({ value }, value.length, [minItems, maxItems], " choices");
}

function textOf(reply: string, field: FormField): Typed {
  const choices = choicesOf(field);
  if (choices) return choices.includes(reply) ? { value: reply } : { wrong: `must be one of ${choices.join(", ")}` };
  const { format = "", minLength, maxLength } = field;
  const rule = FORMATS[format];
  if (rule && !rule.fits(reply)) return { wrong: `must be ${rule.name}` };
  return withinOr({ value: reply }, Array.from(reply).length, [minLength, maxLength], " characters");
}

function withinOr(good: Typed, size: number, [least, most]: readonly (number | undefined)[], unit: string): Typed {
  if (least !== undefined && size < least) return { wrong: `must be at least ${least}${unit}` };
  if (most !== undefined && size > most) return { wrong: `must be at most ${most}${unit}` };
  return good;
}

function choicesOf({ enum: plain, oneOf, anyOf }: FormField): readonly string[] | undefined {
  return plain ?? (oneOf ?? anyOf)?.map((choice) => choice.const);
}

/** No stricter than any server: what they let through here the server may still refuse. */
const FORMATS: Readonly<Record<string, { readonly name: string; readonly fits: (text: string) => boolean }>> = {
  email: { name: "an address such as ada@example.com", fits: (text) => /^[^\s@]+@[^\s@]+$/.test(text) },
  uri: { name: "a URI such as https://example.com", fits: (text) => URL.canParse(text) },
  date: {
    name: "a date such as 2026-07-28",
    fits: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  },
  "date-time": {
    name: "a time such as 2026-07-28T09:00:00Z",
    fits: (text) => /^\d{4}-\d\d-\d\d[Tt ]/.test(text) && !Number.isNaN(Date.parse(text)),
  },
};
