// Owns zod schemas as JSON Schema, for those that cannot write themselves (zod/mini): what may be sent, before zod makes
// something else of it. Refuses, by member, what JSON cannot say. Decision 0019 says why zod's own writer, with which a
// test compares this one, is not used.
// https://zod.dev/library-authors

import { globalRegistry, type $ZodType, type $ZodTypes } from "zod/v4/core";
import { typeName } from "./json-schema.ts";
import { numberKeywords, patternsOf, sizesOf, stringKeywords } from "./zod-checks.ts";

type Json = Record<string, unknown>;

/** `$defs` has, by name, the members that have an id and those that contain themselves. */
export interface WrittenSchema extends Json {
  readonly $defs?: Readonly<Record<string, Json>>;
}

/** Throws a TypeError that names the member that has no JSON Schema. */
export function writeZod(schema: $ZodType): WrittenSchema {
  const writer = new Writer(schema);
  const json = writer.write(schema, []);
  return writer.defs.size === 0 ? json : { ...json, $defs: Object.fromEntries(writer.defs) };
}

type Member = readonly string[];

class Writer {
  /** What is written under `$defs`, by name. A map, in which no name is one that every object has. */
  readonly defs = new Map<string, Json>();
  /** How many members were written so far whose input is not of their output's type. */
  transforms = 0;
  /** The name of each schema that others refer to; of the outermost, where it has no id, the empty text. */
  readonly #names = new Map<$ZodType, string>();
  readonly #ids = new Map<string, $ZodType>();
  /** Schemas that are being written now: one that is met again within itself becomes a reference. */
  readonly #open = new Set<$ZodType>();
  readonly #root: $ZodType;

  constructor(root: $ZodType) {
    this.#root = root;
  }

  write(schema: $ZodType, at: Member): Json {
    // Where authors registered what else a schema says: title, description, id, any further keyword.
    const { id, ...described }: Json = globalRegistry.get(schema) ?? {};
    if (typeof id === "string" && id !== "") {
      // Both would be listed as the first.
      if ((this.#ids.get(id) ?? schema) !== schema)
        throw new TypeError(refusal(at, `a second schema with the id ${id}`));
      this.#ids.set(id, schema);
      this.#names.set(schema, id);
    }
    const name = this.#names.get(schema);
    if (name !== undefined && this.defs.has(name)) return refer(name);
    if (this.#open.has(schema)) return refer(name ?? this.#newName(schema));
    this.#open.add(schema);
    const json = { ...this.#body(schema as $ZodTypes, at), ...described };
    this.#open.delete(schema);
    const given = this.#names.get(schema);
    if (given === undefined || given === "") return json;
    this.defs.set(given, json);
    return refer(given);
  }

  #newName(schema: $ZodType): string {
    const name = schema === this.#root ? "" : `__schema${this.#names.size}`;
    this.#names.set(schema, name);
    return name;
  }

  #body(schema: $ZodTypes, at: Member): Json {
    const { type } = schema._zod.def;
    const write = bodies[type] as ((schema: $ZodTypes, writer: Writer, at: Member) => Json) | undefined;
    if (write) return write(schema, this, at);
    throw new TypeError(refusal(at, `a value of type ${type}`));
  }
}

/** A name within a JSON pointer within a URI. https://www.rfc-editor.org/rfc/rfc6901#section-6 */
function refer(name: string): Json {
  const key = encodeURI(name.replaceAll("~", "~0").replaceAll("/", "~1")).replaceAll("#", "%23");
  return { $ref: name === "" ? "#" : `#/$defs/${key}` };
}

function refusal(at: Member, what: string): string {
  return `${at.length === 0 ? "" : `${at.join(".")}: `}${what} cannot be written as JSON Schema`;
}

type TypeOf<S> = S extends { readonly _zod: { readonly def: { readonly type: infer Type } } } ? Type : never;
type Body<Type> = (
  schema: Extract<$ZodTypes, { readonly _zod: { readonly def: { readonly type: Type } } }>,
  writer: Writer,
  at: Member,
) => Json;

/** The JSON of a schema that wraps another one and adds nothing of its own. */
const innerOf = (
  schema: { readonly _zod: { readonly def: { readonly innerType: $ZodType } } },
  writer: Writer,
  at: Member,
) => writer.write(schema._zod.def.innerType, at);

const bodies: { readonly [Type in TypeOf<$ZodTypes>]?: Body<Type> } = {
  any: () => ({}),
  unknown: () => ({}),
  never: () => ({ not: {} }),
  null: () => ({ type: "null" }),
  boolean: () => ({ type: "boolean" }),
  string: (schema, _writer, at) => {
    // JSON Schema has no place for these flags: without them a pattern forbids what is accepted, or means something else.
    const flagged = patternsOf(schema).find(({ flags }) => /[imsv]/.test(flags));
    if (flagged) throw new TypeError(refusal(at, `the flags of ${String(flagged)}`));
    return stringKeywords(schema);
  },
  number: numberKeywords,
  template_literal: ({ _zod }) => ({ type: "string", pattern: _zod.pattern.source }),
  enum: ({ _zod }) => oneOfValues([..._zod.values]),
  literal: literalOf,
  array: (schema, writer, at) => ({
    type: "array",
    ...sizesOf(schema, "Items"),
    items: writer.write(schema._zod.def.element, at),
  }),
  tuple: tupleOf,
  object: objectOf,
  record: recordOf,
  union: ({ _zod: { def } }, writer, at) => {
    const options = def.options.map((option) => writer.write(option, at));
    return def.inclusive === false ? { oneOf: options } : anyOf(options);
  },
  intersection: intersectionOf,
  nullable: (schema, writer, at) => anyOf([innerOf(schema, writer, at), { type: "null" }]),
  optional: innerOf,
  nonoptional: innerOf,
  catch: innerOf,
  lazy: ({ _zod }, writer, at) => writer.write(_zod.innerType, at),
  readonly: (schema, writer, at) => ({ ...innerOf(schema, writer, at), readOnly: true }),
  default: (schema, writer, at) => {
    const before = writer.transforms;
    const inner = innerOf(schema, writer, at);
    // A default is of the output's type. Where the input has another type, no caller could send it, so it is left out.
    return writer.transforms > before ? inner : { ...inner, default: schema._zod.def.defaultValue };
  },
  prefault: (schema, writer, at) => ({ ...innerOf(schema, writer, at), default: schema._zod.def.defaultValue }),
  pipe: ({ _zod: { def } }, writer, at) => {
    writer.transforms += 1;
    return writer.write(def.in._zod.def.type === "transform" ? def.out : def.in, at);
  },
};

function literalOf(...[{ _zod }, , at]: Parameters<Body<"literal">>): Json {
  const { values } = _zod.def;
  const other = values.map((value) => typeof value).find((type) => type === "undefined" || type === "bigint");
  if (other !== undefined) throw new TypeError(refusal(at, `a literal of type ${other}`));
  const [value] = values;
  return values.length === 1 ? { type: typeName(value), const: value } : oneOfValues(values);
}

function oneOfValues(values: readonly unknown[]): Json {
  if (values.length === 0) return { not: {} };
  const [type, ...others] = new Set(values.map(typeName));
  return { ...(others.length === 0 ? { type } : {}), enum: values };
}

/** Alternatives that only name a type become one list of types, which clients show better. */
function anyOf(options: readonly Json[]): Json {
  const types = options.flatMap((option) => (Object.keys(option).length === 1 ? option.type : undefined));
  if (types.includes(undefined)) return { anyOf: options };
  const distinct = [...new Set(types)];
  return { type: distinct.length === 1 ? distinct[0] : distinct };
}

/**
 * Objects that share no member are written as one, which is closed if both are: under `allOf` each closed one would
 * refuse the other's members.
 */
function intersectionOf(...[{ _zod }, writer, at]: Parameters<Body<"intersection">>): Json {
  const sides = [writer.write(_zod.def.left, at), writer.write(_zod.def.right, at)];
  const [left = {}, right = {}] = sides.map(membersOf);
  const closed = sides.map((side) => side.additionalProperties === false);
  if (sides.every(isPlainObject) && !Object.keys(left).some((key) => key in right)) {
    const required = sides.flatMap((side) => (side.required as string[] | undefined) ?? []);
    return {
      type: "object",
      properties: { ...left, ...right },
      ...(required.length === 0 ? {} : { required }),
      ...(closed.includes(false) ? {} : { additionalProperties: false }),
    };
  }
  if (closed.includes(true)) throw new TypeError(refusal(at, "an intersection of closed objects with a common member"));
  return { allOf: sides };
}

function isPlainObject({
  type,
  properties: _properties,
  required: _required,
  additionalProperties = false,
  ...more
}: Json): boolean {
  return type === "object" && additionalProperties === false && Object.keys(more).length === 0;
}

function membersOf(side: Json): Json {
  return (side.properties as Json | undefined) ?? {};
}

function tupleOf(...[schema, writer, at]: Parameters<Body<"tuple">>): Json {
  const { items, rest } = schema._zod.def;
  const minItems = items.findLastIndex((item) => !mayLack(item)) + 1;
  return {
    type: "array",
    prefixItems: items.map((item, index) => writer.write(item, [...at, String(index)])),
    items: rest ? writer.write(rest, at) : false,
    ...(minItems > 0 ? { minItems } : {}),
    ...(rest ? {} : { maxItems: items.length }),
    ...sizesOf(schema, "Items"),
  };
}

function objectOf(...[{ _zod }, writer, at]: Parameters<Body<"object">>): Json {
  const { shape, catchall } = _zod.def;
  const members = Object.entries(shape);
  const required = members.flatMap(([key, member]) => (mayLack(member) ? [] : [key]));
  return {
    type: "object",
    properties: Object.fromEntries(members.map(([key, member]) => [key, writer.write(member, [...at, key])])),
    ...(required.length === 0 ? {} : { required }),
    ...furtherMembers(catchall, writer, at),
  };
}

/** zod drops members that an object does not name, so a request may carry more of them. */
function furtherMembers(catchall: $ZodType | undefined, writer: Writer, at: Member): Json {
  if (catchall === undefined) return {};
  return { additionalProperties: catchall._zod.def.type === "never" ? false : writer.write(catchall, at) };
}

function recordOf(...[{ _zod }, writer, at]: Parameters<Body<"record">>): Json {
  const { keyType, valueType, mode, partial } = _zod.def;
  const names = writer.write(keyType, at);
  const additionalProperties = writer.write(valueType, at);
  // A loose record lets keys of another form pass with any value, so nothing is said of its members.
  if (mode === "loose") return { type: "object" };
  const all = partial || mayLack(valueType) ? undefined : keyType._zod.values;
  return {
    type: "object",
    // A key that is a number is text in JSON.
    ...(names.type === "number" || names.type === "integer" ? {} : { propertyNames: names }),
    additionalProperties,
    ...(all === undefined ? {} : { required: [...all].map(String) }),
  };
}

/**
 * Whether a member may be absent. For zod, one with `catch` or a preprocess may, because these mend an absent value
 * too. Callers are told what holds of the schema under it.
 */
function mayLack(schema: $ZodType): boolean {
  const { def } = (schema as $ZodTypes)._zod;
  if (def.type === "catch") return mayLack(def.innerType);
  if (def.type === "pipe" && def.in._zod.def.type === "transform") return mayLack(def.out);
  return schema._zod.optin !== undefined;
}
