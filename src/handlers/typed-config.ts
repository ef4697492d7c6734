// Owns reading what operators wrote for an author's code (a tool's config, a tenant's settings) by the author's schema: the
// value that handlers get, and each member that breaks a rule. Nothing written counts as an object without members.

import { AppError } from "../protocol/app-error.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { nearestName } from "../protocol/did-you-mean.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { compileSchema, type AnySchema, type CompiledSchema, type Validated } from "./schema.ts";

/** Thrown into a handler: what was written before does not fit what is deployed now. Its message is for the log alone. */
export class ConfigError extends AppError {
  constructor(message: string) {
    super("internal", { message });
  }

  override toFailure(): Failure {
    return failure("internal", "Internal error: the tenant's configuration does not fit what is deployed");
  }
}

export interface ConfigViolation {
  /** Within the value; empty for the value itself. */
  readonly path: string;
  readonly rule: string;
}

export interface TypedConfig {
  /** `where` is for the log. Throws a `ConfigFault`. */
  read(raw: unknown, where: string): unknown;
  violationsOf(raw: unknown): readonly ConfigViolation[];
  /** Members that the schema takes, and of which it has none: a handler never sees them. */
  unknownMembers(raw: unknown): readonly ConfigViolation[];
}

const EMPTY_CONFIG = {};

/** What no list shows may be beyond JSON Schema: then what it reads says so. */
function acceptsObject(compiled: CompiledSchema): boolean {
  try {
    return (compiled.json.type ?? "object") === "object";
  } catch {
    return true;
  }
}

/** The members that the schema names; undefined where it means to take others, too, or cannot say. */
function knownMembersOf(compiled: CompiledSchema): readonly string[] | undefined {
  try {
    const { properties, ...rest } = compiled.json;
    const acceptsOthers = ["additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref"].some(
      (keyword) => keyword in rest && rest[keyword] !== false,
    );
    return isObject(properties) && !acceptsOthers ? Object.keys(properties) : undefined;
  } catch {
    // It is beyond JSON Schema.
    return undefined;
  }
}

/** Throws a TypeError for a JSON Schema that cannot be used. */
export function createTypedConfig(schema: AnySchema): TypedConfig {
  const compiled = compileSchema(schema);
  if (!acceptsObject(compiled)) throw new TypeError("its type is object");
  const cache = new WeakMap<object, Validated>();
  const validate = (raw: unknown = EMPTY_CONFIG): Validated => {
    const isCacheable = typeof raw === "object" && raw !== null;
    const cached = isCacheable ? cache.get(raw) : undefined;
    if (cached) return cached;
    const read = compiled.validate(raw);
    if (read instanceof Promise) throw new TypeError("config and settings have no async checks");
    if (isCacheable) cache.set(raw, read);
    return read;
  };
  const violationsOf = (raw: unknown) => {
    const result = validate(raw);
    if ("value" in result) return [];
    // A message begins with the path, which its reader has already.
    return result.violations.map(({ path, message }) => ({ path, rule: message.slice(message.indexOf(": ") + 2) }));
  };
  return {
    violationsOf,
    unknownMembers: (raw) => {
      const members = isObject(raw) ? knownMembersOf(compiled) : undefined;
      const unknown = members && isObject(raw) ? Object.keys(raw).filter((name) => !members.includes(name)) : [];
      return unknown.map((path) => {
        const suggestion = nearestName(path, members ?? []);
        return {
          path,
          rule: `the schema has no such member${suggestion === undefined ? "" : `: did you mean ${suggestion}?`}`,
        };
      });
    },
    read: (raw, where) => {
      const result = validate(raw);
      if ("value" in result) return result.value;
      const messages = violationsOf(raw).map(({ path, rule }) => [where, path].filter(Boolean).join(".") + `: ${rule}`);
      throw new ConfigError(messages.join("; "));
    },
  };
}
