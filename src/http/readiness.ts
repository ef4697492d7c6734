// Owns whether a Worker can serve at all: its KV answers, and the classes of its Durable Objects can be used. Refuses to
// look at any tenant's, and to ask the objects again once they answered: what a class stores in changes with a deployment.

import { neededBindings } from "../deployment/check-deployment.ts";
import type { Bindings, Feature } from "../deployment/deployment.ts";
import { READINESS, type Answering } from "../tenants/authority/tables-object.ts";
import type { Env } from "./visit.ts";

/** Environments whose objects answered. */
const answered = new WeakSet<object>();

/** Rejects with what an operator has to know. */
export async function checkReadiness(env: Env, features: readonly Feature[]): Promise<void> {
  await env.BODIES.get(READINESS);
  if (answered.has(env)) return;
  await Promise.all(neededBindings(features).map((name) => checkObjects(name, (env as unknown as Bindings)[name])));
  answered.add(env);
}

async function checkObjects(name: string, binding: unknown): Promise<void> {
  if (!isNamespace(binding)) return;
  try {
    await (binding.getByName(READINESS) as unknown as Answering).ready();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const hint = "does a [[migrations]] of wrangler.toml name its class in new_sqlite_classes?";
    throw new Error(`the objects of ${name} do not answer (${why}); ${hint}`, { cause });
  }
}

function isNamespace(binding: unknown): binding is DurableObjectNamespace {
  return typeof binding === "object" && binding !== null && "getByName" in binding;
}
