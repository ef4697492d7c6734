// Owns upstreams that are Workers beside this one: a service binding that the author exposes by a name, and an operator
// grants to a tenant. Refuses what is not granted; that nothing of the platform is reached by a name alone.

import type { TenantDocument, UpstreamDocument } from "../../tenants/document/tenant-document.ts";

/** What a service binding is. */
export interface ServiceBinding {
  fetch(request: Request): Promise<Response>;
}

/** Service bindings by the names under which tenants may be granted them. `env`: the Worker's bindings, as its author types them. */
export type Services = Readonly<Record<string, (env: never) => ServiceBinding>>;

/** Where requests to an upstream go. A binding looks at the path alone. */
export function upstreamUrl({ url, service, path = "/mcp" }: UpstreamDocument): string {
  return service === undefined ? (url ?? "") : `https://${service}.service.invalid${path}`;
}

/** Why the service is not for this tenant; undefined: it is, or the upstream is none. */
export function serviceGrantError(
  { serviceBindings: services = [] }: TenantDocument,
  { service }: UpstreamDocument,
): string | undefined {
  return service === undefined || services.includes(service)
    ? undefined
    : `the service ${service} is not granted to this tenant`;
}

/** The service behind an upstream; undefined: it is not behind one. Throws where the Worker does not expose it. */
export function getServiceFetch(
  { service }: UpstreamDocument,
  exposed: Services,
  env: unknown,
): ((request: Request) => Promise<Response>) | undefined {
  if (service === undefined) return undefined;
  const binding = Object.hasOwn(exposed, service) ? exposed[service]?.(env as never) : undefined;
  if (!binding) throw new MissingServiceError(service);
  return (request) => binding.fetch(request);
}

/** Its message can be shown. */
export class MissingServiceError extends Error {
  override readonly name = "UnboundService";

  constructor(service: string) {
    super(`this Worker has no service ${service}`);
  }
}
