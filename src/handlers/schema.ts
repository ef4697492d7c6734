// One interface over both ways to describe values: a Standard Schema (zod and others) and plain JSON Schema.
// https://standardschema.dev

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { typeOf } from "../protocol/members.ts";
import type { Violation } from "../protocol/call-outcome.ts";
import type { FromJsonSchema } from "./json-schema-type.ts";
import { applyDefaults, compileJsonSchema, typeName } from "./json-schema.ts";
import { MAX_VIOLATIONS } from "./schema-keywords.ts";
import { hasKeyword } from "./schema-shape.ts";

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
  readonly expected?: unknown;
  readonly code?: unknown;
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/**
 * A schema that validates and can be written as JSON Schema: zod from 4.2 on, or zod/mini with `import
 * "tenantry/zod-mini"`.
 */
export interface StandardSchema<Output = unknown, Input = unknown> {
  readonly "~standard": {
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema?: { readonly input: (options: { target: "draft-2020-12" }) => Record<string, unknown> };
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type AnySchema = StandardSchema | Readonly<Record<string, unknown>>;

/** `unknown`, or for a zod shape in place of a schema a string type with the error, which no shape satisfies. */
export type CheckedSchema<S> =
  S extends Readonly<Record<string, StandardSchema>>
    ? [keyof S] extends [never]
      ? unknown
      : "write z.object({ ... }) around these fields"
    : unknown;

/** The type that a handler receives for a schema. */
export type Infer<S> = S extends StandardSchema<infer Output> ? Output : FromJsonSchema<S>;

/** The type of a value as it is sent, before the schema's own defaults and transforms. */
export type FromInput<S> = S extends StandardSchema<unknown, infer Input> ? Input : FromJsonSchema<S>;

export type Validated = { readonly value: unknown } | { readonly violations: readonly Violation[] };

interface JsonSchemaOptions {
  readonly io: "input";
  readonly target: "draft-2020-12";
  /** zod calls this function for a member that it cannot write. */
  readonly unrepresentable: typeof rejectMember;
}

const JSON_SCHEMA_OPTIONS: JsonSchemaOptions = { io: "input", target: "draft-2020-12", unrepresentable: rejectMember };

/** Writes a schema of zod/mini, which has no methods, as JSON Schema. Throws a TypeError that names the member. */
export type ZodMiniWriter = (schema: StandardSchema, how: JsonSchemaOptions) => JsonObject;

let zodMiniWriter: ZodMiniWriter | undefined;

/**
 * Sets the writer for every schema that is written from now on. This file does not import the writer, so that only a
 * Worker with zod/mini has it in its bundle.
 */
export function setZodMiniWriter(writer: ZodMiniWriter): void {
  zodMiniWriter = writer;
}

export interface CompiledSchema {
  /** The JSON Schema that is listed; unmodified when the author gave a JSON Schema. */
  readonly json: JsonObject;
  validate(value: unknown): Validated | Promise<Validated>;
  /** Like `validate`, without filling in the defaults of a JSON Schema: for a value that is sent as it is. */
  check(value: unknown): Validated | Promise<Validated>;
}

/** Throws a TypeError for an invalid JSON Schema. For other schemas, the first read of `json` throws it. */
export function compileSchema(schema: AnySchema): CompiledSchema {
  if (!["object", "function"].includes(typeof schema)) {
    throw new TypeError(`must be a schema of zod or JSON Schema, not ${typeOf(schema)}`);
  }
  return isStandard(schema) ? compileStandard(schema) : compilePlain(schema);
}

function isStandard(schema: AnySchema): schema is StandardSchema {
  return "~standard" in schema;
}

function compilePlain(json: JsonObject): CompiledSchema {
  // The official SDK accepts a zod shape. Here its members would be unknown keywords, and nothing would be validated.
  if (Object.values(json).some((member) => isObject(member) && "~standard" in member)) {
    throw new TypeError("this is a zod shape: write z.object({ ... })");
  }
  const names = Object.keys(json);
  // The members of an object in place of its schema would all be unknown keywords too.
  if (names.length > 0 && !hasKeyword(names)) {
    throw new TypeError(`has no keyword of JSON Schema: write { type: "object", properties: { ${names[0]}: ... } }`);
  }
  const violationsOf = compileJsonSchema(json);
  const check = (value: unknown): Validated => {
    const violations = violationsOf(value);
    return violations.length === 0 ? { value } : { violations };
  };
  return {
    json,
    check,
    validate: (value) => check(applyDefaults(json, value)),
  };
}

function compileStandard(schema: StandardSchema): CompiledSchema {
  const standard = schema["~standard"];
  let json: JsonObject | undefined;
  const check = (value: unknown): Validated | Promise<Validated> => {
    const result = standard.validate(value);
    return result instanceof Promise
      ? result.then((settled) => toValidated(settled, value))
      : toValidated(result, value);
  };
  return {
    get json() {
      if (json === undefined) {
        json = toJsonSchema(schema);
        // The library validates by itself; clients validate with this JSON Schema.
        compileJsonSchema(json);
      }
      return json;
    },
    check,
    validate: check,
  };
}

/** Throws a TypeError that names the member that cannot be written, and the reason. */
function toJsonSchema(schema: StandardSchema): JsonObject {
  const { jsonSchema, vendor } = schema["~standard"];
  if (hasMethods(schema)) return schema.toJSONSchema(JSON_SCHEMA_OPTIONS);
  if (jsonSchema) return jsonSchema.input({ target: "draft-2020-12" });
  if (zodMiniWriter && "_zod" in schema) return zodMiniWriter(schema, JSON_SCHEMA_OPTIONS);
  throw new TypeError(missingWriterMessage(vendor, "_zod" in schema));
}

/**
 * A schema of zod itself. Its own method names the member that cannot be written; the method of Standard Schema does
 * not.
 */
interface ZodWithMethods {
  toJSONSchema(how: JsonSchemaOptions): JsonObject;
}

function hasMethods(schema: object): schema is ZodWithMethods {
  return "_zod" in schema && "toJSONSchema" in schema;
}

function rejectMember({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): never {
  const member = path.filter((_key, at) => path[at - 1] === "properties").join(".");
  throw new TypeError(member === "" ? message : `${member}: ${message}`);
}

function missingWriterMessage(vendor: string, isMini: boolean): string {
  if (isMini) return 'zod/mini cannot write JSON Schema by itself: add `import "tenantry/zod-mini"` once';
  if (vendor === "zod") return "this is zod 3, which cannot be written as JSON Schema: import zod 4";
  const writer = vendor === "valibot" ? ", or toStandardJsonSchema(...) of @valibot/to-json-schema" : "";
  return `${vendor} cannot write this schema as JSON Schema: use JSON Schema itself, or zod 4${writer}`;
}

function toValidated(result: StandardResult<unknown>, value: unknown): Validated {
  if (result.issues === undefined) return { value: result.value };
  return { violations: result.issues.slice(0, MAX_VIOLATIONS).map((issue) => violationOf(issue, value)) };
}

function violationOf(issue: StandardIssue, value: unknown): Violation {
  const keys = (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
  const path = keys.map(String).join(".");
  const at = keys.reduce<unknown>((within, key) => (within as Record<PropertyKey, unknown> | undefined)?.[key], value);
  const expected = [issue.expected, issue.code].find((about) => typeof about === "string") ?? "valid";
  return {
    path,
    expected,
    received: typeName(at),
    message: `${path === "" ? "arguments" : path}: ${issue.message}`,
  };
}

/** Adds type object to a schema without a type, because the protocol requires it of a tool's input schema. */
export function objectSchema(json: JsonObject): JsonObject {
  return json.type === undefined ? { type: "object", ...json } : json;
}
