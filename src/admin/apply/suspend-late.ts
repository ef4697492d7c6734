// Suspending a tenant whose object does not answer: the platform's object brings it there as soon as it does.

import { askedDirectory } from "./asked-directory.ts";
import { notFound } from "../problem.ts";
import type { Desk, RouteAnswer } from "../route.ts";
import { rolloutsOf } from "./stopped-everywhere.ts";
import { ANYWHERE } from "../../tenants/directory/placement.ts";

/** The answer of a suspension that nobody confirmed. Throws `not-found`. */
export async function suspendLate(desk: Desk, id: string, note: string): Promise<RouteAnswer> {
  const { env, caller } = desk;
  const inCode = desk.options.tenants.has(id);
  const directory = askedDirectory(env, id);
  const { entry } = inCode ? { entry: null } : await directory.lookup(id);
  if (!entry && !inCode && !(await directory.isDeclared(id))) throw notFound(`tenant ${id}`);
  const { jurisdiction, region } = entry ?? ANYWHERE;
  await rolloutsOf(env).suspendLate({ id, created: entry?.created ?? "", jurisdiction, region }, note, caller);
  return { status: 202, body: { revision: 0, changed: true, effectiveAt: null } };
}
