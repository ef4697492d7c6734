// Owns which headers of a page's own go to upstreams of the tenant that it asks for: those that are mapped there, of those for which
// the browser asks leave. Refuses to say which others there are, and asks nobody where none could be.

import { credentialOf } from "../auth/credential.ts";
import { documentOf } from "../content/serve/sources.ts";
import type { Deployment } from "../deployment/deployment.ts";
import { clientHeaderIn } from "../gateway/guard/client-headers.ts";
import { mappedOfClient } from "../gateway/upstream-config.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { findAhead, refusedUnasked } from "./app.ts";
import { preflight } from "./cors.ts";
import { hold, unknownTenant } from "./hold-tenant.ts";
import { Visit, type Address, type Invocation } from "./visit.ts";

/** A browser asks for leave without the credential of its page: for what is told here, nobody needs one. */
export async function pageHeaders(
  deployment: Deployment,
  invocation: Invocation,
  { tenant: id, profile, path }: Address,
): Promise<readonly string[]> {
  const { request } = invocation;
  const wanted = wantedIn(request);
  if (wanted.length === 0) return [];
  const credential = credentialOf(null);
  if (refusedUnasked(deployment, id, credential, request)) return [];
  const found = await findAhead(deployment, invocation, id, credential);
  const known = found.tenant ?? unknownTenant({ request, deployment }, credential, found.anyPrivate);
  const visit = new Visit(deployment, invocation, { tenant: id, profile, path, credential, known });
  // A name that is nobody's is held, too: what that takes tells nothing.
  const snapshot = await hold(visit);
  const { knock } = visit;
  if (isFailure(snapshot) || isFailure(knock.known)) return [];
  const mapped = mappedOfClient(documentOf(knock.known, snapshot.policy));
  return wanted.filter((name) => mapped.has(name));
}

/** What may be sent anyway needs no tenant. */
function wantedIn({ headers }: Request): readonly string[] {
  const asked = (headers.get("access-control-request-headers") ?? "").split(",");
  const anyway = preflight(null, null).headers.get("access-control-allow-headers")?.split(", ");
  const names = asked.map((name) => clientHeaderIn(`client:${name.trim()}`));
  return names.filter((name) => name !== undefined).filter((name) => !anyway?.includes(name));
}
