// Owns `defineResource` and `defineTemplate`: resources that live in code, and templates over code or stored ones.

import type { TemplateDefinition } from "../../protocol/backend.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { parseUri } from "../../protocol/uri.ts";
import { parseUriTemplate, type UriTemplate } from "../../protocol/uri-template.ts";
import type { Context } from "../../calls/context.ts";
import type { Completer } from "./prompt.ts";

export interface ResourceAbout {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
}

type Body = string | Uint8Array;

export interface ResourceOptions extends ResourceAbout {
  readonly uri: string;
  /** One of these three. */
  readonly text?: string;
  readonly blob?: Uint8Array;
  readonly read?: (ctx: Context) => Body | Promise<Body>;
}

export interface Resource {
  readonly kind: "resource";
  readonly uri: string;
  readonly mimeType: string | undefined;
  readonly wire: JsonObject;
  readonly read: (ctx: Context) => Body | Promise<Body>;
}

export interface TemplateOptions extends ResourceAbout {
  readonly uriTemplate: string;
  /** By variable; without it, what is stored under the template completes. */
  readonly complete?: Readonly<Record<string, Completer>>;
  /** undefined: there is no such resource. Without `read` the template describes stored resources. */
  readonly read?: (variables: Record<string, string>, ctx: Context) => Body | undefined | Promise<Body | undefined>;
}

export interface ResourceTemplate extends TemplateDefinition {
  readonly kind: "template";
  readonly mimeType: string | undefined;
  readonly template: UriTemplate;
  readonly complete: Readonly<Record<string, Completer>>;
  readonly read: TemplateOptions["read"];
}

function aboutWire({ name, title, description, mimeType, annotations, icons }: ResourceAbout): JsonObject {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(icons === undefined ? {} : { icons }),
  };
}

export function defineResource(options: ResourceOptions): Resource {
  const parsed = parseUri(options.uri);
  if ("broken" in parsed) throw new TypeError(`resource "${options.uri}": ${parsed.broken}`);
  const fixed = options.text ?? options.blob;
  const read = options.read ?? (fixed === undefined ? undefined : () => fixed);
  if (!read) throw new TypeError(`resource "${options.uri}": needs text, blob or read`);
  const size = typeof fixed === "string" ? new TextEncoder().encode(fixed).byteLength : fixed?.byteLength;
  return {
    kind: "resource",
    uri: parsed.uri,
    mimeType: options.mimeType,
    wire: { uri: parsed.uri, ...aboutWire(options), ...(size === undefined ? {} : { size }) },
    read,
  };
}

export function defineTemplate(options: TemplateOptions): ResourceTemplate {
  const template = parseUriTemplate(options.uriTemplate);
  if ("broken" in template) throw new TypeError(`template "${options.uriTemplate}": ${template.broken}`);
  return {
    kind: "template",
    mimeType: options.mimeType,
    template,
    complete: options.complete ?? {},
    read: options.read,
    wire: { uriTemplate: options.uriTemplate, ...aboutWire(options) },
  };
}
