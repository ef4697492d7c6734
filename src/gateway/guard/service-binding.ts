// Upstreams behind a service binding: the author exposes the binding under a name, and an operator grants it to a
// tenant. A name alone never reaches a binding.

import type { TenantDocument, UpstreamDocument } from "../../tenants/document/tenant-document.ts";

export interface ServiceBinding {
  fetch(request: Request): Promise<Response>;
}

/**
 * Service bindings by the names under which operators grant them to tenants. `env` is the Worker's bindings, as the
 * author types them.
 */
export type Services = Readonly<Record<string, (env: never) => ServiceBinding>>;

/** The URL of an upstream. A service binding uses only the path. */
export function upstreamUrl({ url, service, path = "/mcp" }: UpstreamDocument): string {
  return service === undefined ? (url ?? "") : `https://${service}.service.invalid${path}`;
}

/**
 * Why the service is not available to this tenant. Returns undefined if it is granted, or if the upstream is not a
 * service.
 */
export function serviceGrantError(
  { serviceBindings: services = [] }: TenantDocument,
  { service }: UpstreamDocument,
): string | undefined {
  return service === undefined || services.includes(service)
    ? undefined
    : `the service ${service} is not granted to this tenant`;
}

/**
 * The fetch function of an upstream's service, or undefined if it has a URL. Throws a MissingServiceError if the Worker
 * does not expose the service.
 */
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

/** The message may be shown to callers. */
export class MissingServiceError extends Error {
  override readonly name = "MissingServiceError";

  constructor(service: string) {
    super(`this Worker has no service ${service}`);
  }
}
