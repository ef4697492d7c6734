// The interface to HTML pages at the Worker's URLs. A feature renders them.

import type { ServerInfo } from "../protocol/definition.ts";
import type { Failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { Mode } from "../tenants/document/tenant-document.ts";

type NamedDefinition = { readonly wire: JsonObject & { readonly name: string } };

/** An authorized visitor's view of an endpoint. */
export interface EndpointPage {
  readonly tenant: string;
  readonly profile: string | null;
  /** The part after `/mcp` of the URL under which the endpoint is shown. */
  readonly path: string;
  readonly mode: Mode;
  readonly view: {
    readonly server: ServerInfo;
    readonly tools: readonly NamedDefinition[];
    readonly prompts: readonly NamedDefinition[];
  };
}

export interface Pages {
  /** Whether `origin` is that of the pages themselves, so that their script may send requests. */
  isOwnOrigin(request: Request, origin: string): boolean;
  /** `mount`: the path of the Worker. */
  renderEndpoint(request: Request, mount: string, endpoint: EndpointPage): Response;
  /** An HTML version of `response`, for browsers. It says as much as the JSON version and no more. */
  renderRejection(request: Request, mount: string, response: Response, reason: Failure): Response;
}
