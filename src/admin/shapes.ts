// Owns what the contract is written in: JSON Schema 2020-12 as far as the admin API needs it, with words for what recurs.
// Refuses, for what may be sent, keywords that `inspect.ts` does not hold; a test walks through all of the contract.

type TypeName = "array" | "boolean" | "integer" | "number" | "object" | "string";

/** Texts of which a function says what is wrong. */
export type Format = "date-time" | "origin" | "secret-name" | "tenant-id" | "uri";

/** The schema of what somebody may send. */
export interface Shape {
  readonly type?: TypeName;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: Format;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Shape;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly maxProperties?: number;
  readonly propertyNames?: Shape;
  /** Always: members that nobody knows are refused. */
  readonly additionalProperties?: Shape | false;
  /** Objects that a member with a `const` tells apart. */
  readonly oneOf?: readonly Shape[];
  readonly default?: number;
  readonly description?: string;
  readonly example?: string;
  /** What a value of the wrong type, or against the pattern, is told. */
  readonly "x-rule"?: string;
  /** The member in which the items of a list differ. */
  readonly "x-uniqueBy"?: string;
  /** As UTF-8. */
  readonly "x-maxBytes"?: number;
  readonly anyOf?: never;
}

type Members = Readonly<Record<string, object>>;

/** Not an interface: those are no `JsonObject`. */
export type ObjectShape<R, O> = {
  readonly type: "object";
  readonly properties: R & O;
  readonly required: readonly (keyof R & string)[];
  readonly additionalProperties: false;
};

/** A closed object: with these members, and perhaps with those. */
export function object<const R extends Members, const O extends Members = R>(
  members: R,
  optional?: O,
): ObjectShape<R, O> {
  const properties = { ...members, ...optional } as R & O;
  const required = Object.keys(members);
  const shape = { type: "object", properties, ...(required.length > 0 && { required }), additionalProperties: false };
  return shape as ObjectShape<R, O>;
}

type ListLimits = Pick<Shape, "minItems" | "maxItems" | "uniqueItems" | "x-uniqueBy">;

export function list<const I extends object, const L extends ListLimits = ListLimits>(items: I, limits?: L) {
  return { type: "array", items, ...(limits as L) } as const;
}

/** Members by name. */
export function record<const N extends Shape, const V extends object>(propertyNames: N, value: V) {
  return { type: "object", propertyNames, additionalProperties: value } as const;
}

export function nullable<const S extends object>(shape: S) {
  return { anyOf: [shape, { type: "null" }] } as const;
}

/** A text of at most so many characters. */
export function textUpTo<const Most extends number>(maxLength: Most, minLength = 0) {
  return { type: "string", maxLength, ...(minLength > 0 && { minLength }) } as const;
}

/** A text of a pattern, and what one against it is told. */
export function matching(pattern: RegExp, rule: string) {
  return { type: "string", pattern: pattern.source, "x-rule": rule } as const;
}

/** A whole number within limits. */
export function whole(minimum: number, maximum: number) {
  return { type: "integer", minimum, maximum } as const;
}

export function oneOf<const V extends readonly string[]>(...values: V) {
  return { type: "string", enum: values } as const;
}

/** RFC 3339, in UTC, with a Z at the end. */
export const Timestamp = { type: "string", format: "date-time" } as const;
export const STRING = { type: "string" } as const;
export const FLAG = { type: "boolean" } as const;
export const COUNT = { type: "integer" } as const;
export const DISTINCT = { uniqueItems: true } as const;
/** Any value at all. */
export const ANYTHING = {} as const;
