// Describes a JSON Schema in a cell of a table: the allowed values, with their bounds.

/** The part of JSON Schema that the contract uses. */
export interface Shape {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly format?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Shape;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly maxProperties?: number;
  readonly additionalProperties?: Shape | false;
  readonly oneOf?: readonly Shape[];
  readonly "x-rule"?: string;
}

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "a time, RFC 3339",
  origin: "an origin, such as `https://app.example.com`",
  "secret-name": "the name of a secret",
  "tenant-id": "the id of a tenant",
  uri: "a URI",
};

export function shapeWords(shape: Shape): string {
  const { type, enum: choices, const: only } = shape;
  if (only !== undefined) return `\`${only}\``;
  if (choices) return choices.map((one) => `\`${one}\``).join(", ");
  if (type === "boolean") return "`true`, `false`";
  if (type === "integer" || type === "number") return numberWords(shape);
  if (type === "array") return listWords(shape);
  if (type === "object") return objectWords(shape);
  if (type === "string") return textWords(shape);
  return shape.oneOf ? shape.oneOf.map(membersOf).join(", ") : "any value";
}

function membersOf({ properties = {} }: Shape): string {
  const named = Object.entries(properties).map(([name, { const: only }]) =>
    only === undefined ? name : `${name}: ${only}`,
  );
  return `\`{ ${named.join(", ")} }\``;
}

function numberWords({ minimum, maximum }: Shape): string {
  return maximum === undefined ? "a whole number" : `${numeral(minimum)} to ${numeral(maximum)}`;
}

function numeral(value: number | undefined): string {
  return (value ?? 0).toLocaleString("en-US");
}

function textWords({ format, maxLength, "x-rule": rule }: Shape): string {
  if (format !== undefined) return FORMATS[format] ?? format;
  if (rule !== undefined) return rule.replaceAll("*", "\\*");
  return maxLength === undefined ? "a text" : `a text of at most ${numeral(maxLength)} characters`;
}

function listWords({ items = {}, maxItems }: Shape): string {
  const list = maxItems === undefined ? "a list" : `a list of at most ${numeral(maxItems)}`;
  const item = shapeWords(items);
  if (items.properties) return `${list} objects`;
  if (items.enum) return `${list} of these: ${item}`;
  if (item.startsWith("a text of ")) return `${list} texts, each with${item.slice("a text of".length)}`;
  return `${list} items; each item ${/^\d/.test(item) ? "has" : "is"} ${item}`;
}

function objectWords({ properties, maxProperties }: Shape): string {
  if (properties) return "an object, see below";
  return maxProperties === undefined
    ? "an object with named entries"
    : `an object with at most ${numeral(maxProperties)} named entries`;
}
