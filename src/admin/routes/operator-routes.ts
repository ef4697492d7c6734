// Routes for operators: people and programs with a name, a role, and a token that is shown once.

import { createKey } from "../../auth/api-key.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { RESERVED_NAMES } from "../operator-auth.ts";
import type { NewOperator, Infer } from "../contract.ts";
import { operatorStore } from "../platform/operator-store.ts";
import { paginateArray } from "../page.ts";
import { platformStubOf } from "../platform/platform-object.ts";
import { invalidFields, notFound, ProblemError } from "../problem.ts";
import { defineRoutes, type AdminEnv } from "../route.ts";
import { OPERATOR_ENDPOINTS } from "../endpoints/access-endpoints.ts";

const operatorRpcOf = (env: AdminEnv) => createRpcClient(platformStubOf(env), operatorStore);

export const operatorRoutes = defineRoutes(OPERATOR_ENDPOINTS, {
  "GET /operators": async ({ env, query }) => ({
    body: paginateArray("operators", await operatorRpcOf(env).operators(), query),
  }),
  "POST /operators": async ({ env, body, caller }) => {
    checkNewOperator(body);
    const { name, role, tenants = null, expires = null } = body;
    const { token, hash } = await createKey("operator");
    const created = await operatorRpcOf(env).addOperator({ name, role, tenants, expires }, hash, caller);
    if (!created) throw new ProblemError("conflict", { errors: [{ field: "name", rule: `${name} already exists` }] });
    return { status: 201, body: { ...created, token } };
  },
  "DELETE /operators/{name}": async ({ env, params, caller }) => {
    if (!(await operatorRpcOf(env).removeOperator(params.name, caller))) throw notFound(`operator ${params.name}`);
    return {};
  },
});

function checkNewOperator({ name, role, tenants, expires }: Infer<typeof NewOperator>): void {
  if (RESERVED_NAMES.includes(name)) throw invalidFields(["name", "is a reserved word"]);
  if (role === "tenant-admin" && tenants === undefined)
    throw invalidFields(["tenants", "is required for a tenant-admin"]);
  if (role !== "tenant-admin" && tenants !== undefined)
    throw invalidFields(["tenants", "is only allowed for a tenant-admin"]);
  if (expires !== undefined && Date.parse(expires) <= Date.now()) throw invalidFields(["expires", "is in the past"]);
}
