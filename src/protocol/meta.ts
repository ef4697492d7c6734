// The `_meta` members that the protocol reserves, and what a request declares about its client.
// https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta

import { isObject, type JsonObject } from "./jsonrpc.ts";

export const META = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

export const LOG_LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return (LOG_LEVELS as readonly unknown[]).includes(value);
}

/** Whether `level` is at least as severe as `minimum`. */
export function isAtLeast(level: LogLevel, minimum: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(minimum);
}

/** The client's own name. https://modelcontextprotocol.io/specification/2026-07-28/schema#implementation */
export interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

/** Names and versions of clients are a few words. */
const MAX_CLIENT_CHARACTERS = 64;

/**
 * `info`: the unchecked `clientInfo` of a request. Cuts name and version at MAX_CLIENT_CHARACTERS. Returns undefined if it has
 * no name or no version.
 */
export function parseClientInfo(info: unknown): ClientInfo | undefined {
  if (!isObject(info) || typeof info.name !== "string" || typeof info.version !== "string") return undefined;
  return { name: info.name.slice(0, MAX_CLIENT_CHARACTERS), version: info.version.slice(0, MAX_CLIENT_CHARACTERS) };
}

/** The members of a request's `_meta` that are not the protocol's own. */
export function customMeta({ _meta }: JsonObject): JsonObject {
  const own = (key: string) => key.startsWith("io.modelcontextprotocol/") || key === "progressToken";
  return isObject(_meta) ? Object.fromEntries(Object.entries(_meta).filter(([key]) => !own(key))) : {};
}

/**
 * A capability that a server may use; a dot separates a sub-capability. Indexed, so that the compiler prints the values
 * in an error.
 */
export type ClientCapability = [
  "elicitation",
  "elicitation.form",
  "elicitation.url",
  "sampling",
  "sampling.tools",
  "roots",
][number];

/**
 * `elicitation` alone is form mode. A client has it if it declares `form`, or declares no mode at all.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#capabilities
 */
export function hasCapability(capabilities: JsonObject, capability: ClientCapability): boolean {
  const [name, part] = capability.split(".") as [string, string | undefined];
  const declared = capabilities[name];
  if (!isObject(declared)) return false;
  if (part === undefined ? name === "elicitation" : part === "form")
    return isObject(declared.form) || !isObject(declared.url);
  return part === undefined || isObject(declared[part]);
}

/** The smallest ClientCapabilities object with these capabilities, for the data of a `missingCapability` error. */
export function requiredCapabilities(...capabilities: readonly ClientCapability[]): JsonObject {
  const required: Record<string, JsonObject> = {};
  for (const capability of capabilities) {
    const [name, part] = capability.split(".") as [string, string | undefined];
    required[name] = { ...required[name], ...(part !== undefined && { [part]: {} }) };
  }
  return required;
}

/** MCP Apps: tools with a user interface. https://modelcontextprotocol.io/extensions/apps */
export const APPS_EXTENSION = "io.modelcontextprotocol/ui";
const APP_TYPE = "text/html;profile=mcp-app";
/** The capabilities of a client that shows MCP Apps. */
export const APPS_CAPABILITIES: JsonObject = { extensions: { [APPS_EXTENSION]: { mimeTypes: [APP_TYPE] } } };

export function supportsApps({ extensions }: JsonObject): boolean {
  const apps = isObject(extensions) ? extensions[APPS_EXTENSION] : undefined;
  return isObject(apps) && Array.isArray(apps.mimeTypes) && apps.mimeTypes.includes(APP_TYPE);
}

export function progressTokenOf(params: JsonObject | undefined): string | number | undefined {
  const meta = params?._meta;
  if (!isObject(meta)) return undefined;
  const token = meta.progressToken;
  return typeof token === "string" || (typeof token === "number" && Number.isInteger(token)) ? token : undefined;
}
