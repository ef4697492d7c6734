// Owns finding out whether the Worker's code declares a tenant now, by name or by the author's function. Refuses to take a function that fails for one that knows no such tenant.

import { isTenantId, type Tenant } from "../../tenants/document/tenant-definition.ts";
import type { NewResource } from "../../calls/resource-store.ts";
import { ProblemError } from "../problem.ts";
import type { Desk } from "../route.ts";

const RETRY = { "retry-after": "5" };

/** As the code has it, which no tenant of the directory is asked about. Throws `busy` where the author's function fails. */
export async function declaredIn(
  { env, options }: Pick<Desk, "env" | "options">,
  id: string,
): Promise<Tenant<NewResource> | undefined> {
  const inCode = options.tenants.get(id);
  if (inCode || !options.asked || !isTenantId(id)) return inCode;
  try {
    return await options.asked.ask(id, env);
  } catch (error) {
    options.onError?.(error);
    throw new ProblemError("busy", { detail: `The Worker's code cannot say now what ${id} is`, headers: RETRY });
  }
}
