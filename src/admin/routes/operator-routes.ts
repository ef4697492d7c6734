// Owns the routes for operators: people and programs with a name, a role, and a token that is shown once.

import { createKey } from "../../auth/api-key.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { RESERVED_NAMES } from "../operator-login.ts";
import { CreatedOperator, Name, NewOperator, Operator, pageShapeOf, type Infer } from "../contract.ts";
import { operatorTables } from "../platform/operator-tables.ts";
import { pageOfAll } from "../page.ts";
import { platformOf } from "../platform/platform-door.ts";
import { invalidFields, notFound, ProblemError } from "../problem.ts";
import { PageQuery, ROLES, route, type AdminEnv, type Route } from "../route.ts";
import { object } from "../schema-parts.ts";

const operatorsOf = (env: AdminEnv) => remote(platformOf(env), operatorTables);

export const operatorRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/operators",
    summary: "List operators",
    roles: ROLES.ownerRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Operator), about: "Operators, by name" }],
    handle: async ({ env, query }) => ({ body: pageOfAll("operators", await operatorsOf(env).operators(), query) }),
  }),
  route({
    method: "post",
    path: "/operators",
    summary: "Make an operator",
    roles: ROLES.owner,
    body: NewOperator,
    replies: [
      { status: 201, schema: CreatedOperator, about: "The operator, with the token, which is shown this once" },
    ],
    handle: async ({ env, body, caller }) => {
      check(body);
      const { name, role, tenants = null, expires = null } = body;
      const { token, hash } = await createKey("operator");
      const made = await operatorsOf(env).addOperator({ name, role, tenants, expires }, hash, caller);
      if (!made) throw new ProblemError("conflict", { errors: [{ field: "name", rule: `${name} is taken` }] });
      return { status: 201, body: { ...made, token } };
    },
  }),
  route({
    method: "delete",
    path: "/operators/{name}",
    summary: "Remove an operator; the token ends at once",
    roles: ROLES.owner,
    params: object({ name: Name }),
    replies: [{ status: 204, about: "Removed" }],
    handle: async ({ env, params, caller }) => {
      if (!(await operatorsOf(env).removeOperator(params.name, caller))) throw notFound(`operator ${params.name}`);
      return {};
    },
  }),
];

function check({ name, role, tenants, expires }: Infer<typeof NewOperator>): void {
  if (RESERVED_NAMES.includes(name)) throw invalidFields(["name", "is a reserved word"]);
  if (role === "tenant-admin" && tenants === undefined) throw invalidFields(["tenants", "a tenant-admin needs them"]);
  if (role !== "tenant-admin" && tenants !== undefined)
    throw invalidFields(["tenants", "only a tenant-admin has them"]);
  if (expires !== undefined && Date.parse(expires) <= Date.now()) throw invalidFields(["expires", "lies in the past"]);
}
