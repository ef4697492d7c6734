// Reads members of a request's params: each reader returns the value, or a failure that names the member and the rule.

import type { McpRequest } from "../mcp-request.ts";
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

type ParamsSource = Pick<McpRequest, "params" | "revision">;

export function readCursor({
  params: { cursor },
  revision: { emptyValues: leftOut },
}: ParamsSource): string | undefined | Failure {
  if (leftOut.includes(cursor)) return undefined;
  return typeof cursor === "string" ? cursor : invalid("cursor", "must be a string");
}

/** Wraps a client's value: a bare object with the member `kind: "failure"` would pass for a `Failure`. */
export interface ReadValue<T> {
  readonly value: T;
}

export function readObject(
  { params, revision: { emptyValues: leftOut } }: ParamsSource,
  member: string,
): ReadValue<JsonObject> | Failure {
  const value = params[member];
  if (leftOut.includes(value)) return { value: {} };
  return isObject(value) ? { value } : invalid(member, "must be an object");
}

/** A map of strings, such as prompt arguments and completion contexts. Clients send null for an omitted value. */
export function readStrings(source: ParamsSource, member: string): ReadValue<Record<string, string>> | Failure {
  const read = readObject(source, member);
  if (isFailure(read)) return read;
  const entries = Object.entries(read.value).filter(([, item]) => item !== null);
  for (const [key, item] of entries) {
    if (typeof item !== "string") return invalid(`${member}.${key}`, "must be a string");
  }
  return { value: Object.fromEntries(entries) as Record<string, string> };
}
