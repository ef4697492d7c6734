// Owns reading what operators wrote for an author's code (a tool's config, a tenant's settings) by the author's schema: the
// value that handlers get, and each member that breaks a rule. Nothing written counts as an object without members.

import { AppError } from "../protocol/app-error.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { nearest } from "../protocol/nearest.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { compileSchema, type AnySchema, type CompiledSchema, type Validated } from "./schema.ts";

/** Thrown into a handler: what was written before does not fit what is deployed now. Its message is for the log alone. */
export class ConfigFault extends AppError {
  constructor(message: string) {
    super("internal", { message });
  }

  override toFailure(): Failure {
    return failure("internal", "Internal error: the tenant's configuration does not fit what is deployed");
  }
}

export interface BrokenConfig {
  /** Within the value; empty for the value itself. */
  readonly path: string;
  readonly rule: string;
}

export interface Configured {
  /** `where` is for the log. Throws a `ConfigFault`. */
  read(raw: unknown, where: string): unknown;
  faultsOf(raw: unknown): readonly BrokenConfig[];
  /** Members that the schema takes, and of which it has none: a handler never sees them. */
  strayMembers(raw: unknown): readonly BrokenConfig[];
}

const NOTHING = {};

/** What no list shows may be beyond JSON Schema: then what it reads says so. */
function isOfObjects(compiled: CompiledSchema): boolean {
  try {
    return (compiled.json.type ?? "object") === "object";
  } catch {
    return true;
  }
}

/** The members that the schema names; undefined where it means to take others, too, or cannot say. */
function membersOf(compiled: CompiledSchema): readonly string[] | undefined {
  try {
    const { properties, ...rest } = compiled.json;
    const takesMore = ["additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref"].some(
      (keyword) => keyword in rest && rest[keyword] !== false,
    );
    return isObject(properties) && !takesMore ? Object.keys(properties) : undefined;
  } catch {
    // It is beyond JSON Schema.
    return undefined;
  }
}

/** Throws a TypeError for a JSON Schema that cannot be used. */
export function configuredBy(schema: AnySchema): Configured {
  const compiled = compileSchema(schema);
  if (!isOfObjects(compiled)) throw new TypeError("its type is object");
  const known = new WeakMap<object, Validated>();
  const look = (raw: unknown = NOTHING): Validated => {
    const isKept = typeof raw === "object" && raw !== null;
    const kept = isKept ? known.get(raw) : undefined;
    if (kept) return kept;
    const read = compiled.validate(raw);
    if (read instanceof Promise) throw new TypeError("config and settings have no async checks");
    if (isKept) known.set(raw, read);
    return read;
  };
  const faultsOf = (raw: unknown) => {
    const read = look(raw);
    if ("value" in read) return [];
    // A message begins with the path, which its reader has already.
    return read.violations.map(({ path, message }) => ({ path, rule: message.slice(message.indexOf(": ") + 2) }));
  };
  return {
    faultsOf,
    strayMembers: (raw) => {
      const members = isObject(raw) ? membersOf(compiled) : undefined;
      const strays = members && isObject(raw) ? Object.keys(raw).filter((name) => !members.includes(name)) : [];
      return strays.map((path) => {
        const near = nearest(path, members ?? []);
        return { path, rule: `the schema has no such member${near === undefined ? "" : `: did you mean ${near}?`}` };
      });
    },
    read: (raw, where) => {
      const read = look(raw);
      if ("value" in read) return read.value;
      const broken = faultsOf(raw).map(({ path, rule }) => [where, path].filter(Boolean).join(".") + `: ${rule}`);
      throw new ConfigFault(broken.join("; "));
    },
  };
}
