// Owns what people are shown in a browser at the Worker's URLs, as far as the Worker knows of it: a feature makes the pages.

import type { ServerInfo } from "../protocol/definition.ts";
import type { Failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { Mode } from "../tenants/document/tenant-document.ts";

type NamedDefinition = { readonly wire: JsonObject & { readonly name: string } };

/** Somebody who was let in at an endpoint, with what they see of it. */
export interface EndpointPage {
  readonly tenant: string;
  readonly profile: string | null;
  /** What follows `/mcp` in the URL under which it is shown. */
  readonly path: string;
  readonly mode: Mode;
  readonly view: {
    readonly server: ServerInfo;
    readonly tools: readonly NamedDefinition[];
    readonly prompts: readonly NamedDefinition[];
  };
}

export interface Pages {
  /** Whether this is the origin of the pages themselves, on whose word their script may ask. */
  isOwnOrigin(request: Request, origin: string): boolean;
  /** `mount`: the path of the Worker. */
  renderEndpoint(request: Request, mount: string, endpoint: EndpointPage): Response;
  /** What a program is told with `refused`, for a person: as much, and no more. */
  renderRejection(request: Request, mount: string, response: Response, reason: Failure): Response;
}
