// Readiness check: KV responds, and the Durable Object classes can be used. It reads no tenant's data. Objects that
// responded once are not checked again: a class changes its storage only with a deployment.

import { PROBE_NAME, type Readiness } from "../tenants/object/store-object.ts";
import { namespaceOf } from "../tenants/directory/namespaces.ts";
import { OBJECT_CLASSES, type ObjectClass } from "../tenants/directory/object-classes.ts";
import type { Env } from "../endpoint/request-context.ts";

/** Environments whose objects responded. */
const readyEnvs = new WeakSet<object>();

/** Rejects with an error that tells the operator what to fix. */
export async function checkReadiness(env: Env): Promise<void> {
  await env.BODIES.get(PROBE_NAME);
  if (readyEnvs.has(env)) return;
  await Promise.all(OBJECT_CLASSES.map((name) => checkObjects(env, name)));
  readyEnvs.add(env);
}

async function checkObjects(env: Env, name: ObjectClass): Promise<void> {
  try {
    await (namespaceOf(env, name).getByName(PROBE_NAME) as unknown as Readiness).ready();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const hint = "check that new_sqlite_classes in wrangler's configuration names the class";
    throw new Error(`the objects of ${name} do not answer (${why}); ${hint}`, { cause });
  }
}
