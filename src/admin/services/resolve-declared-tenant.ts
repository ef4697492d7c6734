// Finds a tenant that the Worker's code declares, by name or through the author's function. An error of that function
// does not count as "no such tenant".

import { isTenantId, type Tenant } from "../../tenants/document/tenant-definition.ts";
import type { NewResource } from "../../handlers/resource-store.ts";
import { ProblemError } from "../problem.ts";
import type { AdminContext } from "../route.ts";

const RETRY = { "retry-after": "5" };

/** The declaration in code; the directory is not asked. Throws `busy` if the author's function fails. */
export async function resolveDeclaredTenant(
  { env, options }: Pick<AdminContext, "env" | "options">,
  id: string,
): Promise<Tenant<NewResource> | undefined> {
  const codeTenant = options.tenants.get(id);
  if (codeTenant || !options.tenantResolver || !isTenantId(id)) return codeTenant;
  try {
    return await options.tenantResolver.resolve(id, env);
  } catch (error) {
    options.onError?.(error);
    throw new ProblemError("busy", { detail: `The Worker's code cannot say now what ${id} is`, headers: RETRY });
  }
}
