// Owns reading members out of a request's params: each reader gives the value or says which member breaks which rule.

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

export function readCursor(params: JsonObject): string | undefined | Failure {
  const { cursor } = params;
  return cursor === undefined || typeof cursor === "string" ? cursor : invalid("cursor", "must be a string");
}

export function readObject(params: JsonObject, member: string): JsonObject | Failure {
  const value = params[member];
  if (value === undefined) return {};
  return isObject(value) ? value : invalid(member, "must be an object");
}

/** A map of strings, as prompt arguments and completion contexts are. */
export function readStrings(params: JsonObject, member: string): Record<string, string> | Failure {
  const value = readObject(params, member);
  if (isFailure(value)) return value;
  for (const [key, item] of Object.entries(value)) {
    if (typeof item !== "string") return invalid(`${member}.${key}`, "must be a string");
  }
  return value as Record<string, string>;
}
