// Owns reading members out of a request's params: each reader gives the value or says which member breaks which rule.

import type { Call } from "../call.ts";
import { failure, type Failure } from "../errors.ts";
import { isObject, type JsonObject } from "../jsonrpc.ts";

export function isFailure(value: unknown): value is Failure {
  return isObject(value) && value.kind === "failure";
}

export function invalid(member: string, rule: string): Failure {
  return failure("invalidParams", `Invalid params: ${member} ${rule}`, { path: member });
}

export function readString(params: JsonObject, member: string): string | Failure {
  const value = params[member];
  return typeof value === "string" ? value : invalid(member, "must be a string");
}

type Asked = Pick<Call, "params" | "dialect">;

export function readCursor({ params: { cursor }, dialect: { leftOut } }: Asked): string | undefined | Failure {
  if (leftOut.includes(cursor)) return undefined;
  return typeof cursor === "string" ? cursor : invalid("cursor", "must be a string");
}

/** Wraps what a client sent: a bare object whose member `kind` says "failure" would pass for a `Failure`. */
export interface Read<T> {
  readonly value: T;
}

export function readObject({ params, dialect: { leftOut } }: Asked, member: string): Read<JsonObject> | Failure {
  const value = params[member];
  if (leftOut.includes(value)) return { value: {} };
  return isObject(value) ? { value } : invalid(member, "must be an object");
}

/** A map of strings, as prompt arguments and completion contexts are. Clients write null for one that is left out. */
export function readStrings(asked: Asked, member: string): Read<Record<string, string>> | Failure {
  const read = readObject(asked, member);
  if (isFailure(read)) return read;
  const given = Object.entries(read.value).filter(([, item]) => item !== null);
  for (const [key, item] of given) {
    if (typeof item !== "string") return invalid(`${member}.${key}`, "must be a string");
  }
  return { value: Object.fromEntries(given) as Record<string, string> };
}
