// Parses operators' values for an author's code (a tool's config, a tenant's settings) with the author's schema, and
// lists each member that breaks a rule. An absent value counts as an empty object.

import { AppError } from "../protocol/app-error.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { nearestName } from "../protocol/did-you-mean.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { compileSchema, type AnySchema, type CompiledSchema, type Validated } from "./schema.ts";

/**
 * Thrown into a handler when the stored configuration does not fit the deployed schema. The message is for the logs
 * only.
 */
export class ConfigError extends AppError {
  constructor(message: string) {
    super("internal", { message });
  }

  override toFailure(): Failure {
    return failure("internal", "Internal error: the tenant's config or settings do not match the deployed code");
  }
}

export interface ConfigViolation {
  /** Path within the value; empty for the value itself. */
  readonly path: string;
  readonly rule: string;
}

export interface TypedConfig {
  /** `where` is for the log. Throws a `ConfigError`. */
  read(raw: unknown, where: string): unknown;
  violationsOf(raw: unknown): readonly ConfigViolation[];
  /** Members that the schema accepts but does not define: a handler never sees them. */
  unknownMembers(raw: unknown): readonly ConfigViolation[];
}

const EMPTY_CONFIG = {};

/** A schema without a JSON Schema form is accepted here, because no list shows it. Its own validation decides later. */
function acceptsObject(compiled: CompiledSchema): boolean {
  try {
    return (compiled.json.type ?? "object") === "object";
  } catch {
    return true;
  }
}

/** The members that the schema names; undefined if it accepts others too, or cannot be inspected. */
function knownMembersOf(compiled: CompiledSchema): readonly string[] | undefined {
  try {
    const { properties, ...rest } = compiled.json;
    const acceptsOthers = ["additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref"].some(
      (keyword) => keyword in rest && rest[keyword] !== false,
    );
    return isObject(properties) && !acceptsOthers ? Object.keys(properties) : undefined;
  } catch {
    // The schema has no JSON Schema form.
    return undefined;
  }
}

/** Throws a TypeError for an unusable JSON Schema. */
export function createTypedConfig(schema: AnySchema): TypedConfig {
  const compiled = compileSchema(schema);
  if (!acceptsObject(compiled)) throw new TypeError("must be a schema of an object");
  const cache = new WeakMap<object, Validated>();
  const validate = (raw: unknown = EMPTY_CONFIG): Validated => {
    const isCacheable = typeof raw === "object" && raw !== null;
    const cached = isCacheable ? cache.get(raw) : undefined;
    if (cached) return cached;
    const read = compiled.validate(raw);
    if (read instanceof Promise) throw new TypeError("config and settings must not have async checks");
    if (isCacheable) cache.set(raw, read);
    return read;
  };
  const violationsOf = (raw: unknown) => {
    const result = validate(raw);
    if ("value" in result) return [];
    // Strips the path from the message: the reader already has it.
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
          rule: `is not in the schema${suggestion === undefined ? "" : `: did you mean ${suggestion}?`}`,
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
