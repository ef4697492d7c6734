// Suspends a tenant whose object does not answer: the platform object delivers the suspension as soon as it does.

import { retryingDirectory } from "./retrying-directory.ts";
import { notFound } from "../problem.ts";
import type { AdminContext, RouteResponse } from "../route.ts";
import { rolloutsOf } from "./platform-blocks.ts";
import { DEFAULT_PLACEMENT } from "../../tenants/directory/placement.ts";

/** Answers with a suspension that the tenant object has not confirmed. Throws `not-found`. */
export async function deferTenantSuspension(context: AdminContext, id: string, note: string): Promise<RouteResponse> {
  const { env, caller } = context;
  const inCode = context.options.tenants.has(id);
  const directory = retryingDirectory(env, id);
  const { entry } = inCode ? { entry: null } : await directory.lookup(id);
  if (!entry && !inCode && !(await directory.isDeclared(id))) throw notFound(`tenant ${id}`);
  const { jurisdiction, region } = entry ?? DEFAULT_PLACEMENT;
  await rolloutsOf(env).deferSuspension({ id, created: entry?.created ?? "", jurisdiction, region }, note, caller);
  return { status: 202, body: { revision: 0, changed: true, effectiveAt: null } };
}
