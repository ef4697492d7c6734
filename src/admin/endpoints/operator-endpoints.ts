// Routes of the admin API: operator.

import { CreatedOperator, Name, NewOperator, Operator, pageShapeOf } from "../contract.ts";
import { PageQuery, ROLES, endpoints } from "../endpoint.ts";
import { object } from "../schema-parts.ts";

export const OPERATOR_ENDPOINTS = endpoints({
  "GET /operators": {
    summary: "List operators",
    roles: ROLES.ownerRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Operator), about: "Operators, by name" }],
  },
  "POST /operators": {
    summary: "Make an operator",
    roles: ROLES.owner,
    body: NewOperator,
    replies: [
      { status: 201, schema: CreatedOperator, about: "The operator, with the token, which is shown this once" },
    ],
  },
  "DELETE /operators/{name}": {
    summary: "Remove an operator; the token ends at once",
    roles: ROLES.owner,
    params: object({ name: Name }),
    replies: [{ status: 204, about: "Removed" }],
  },
});
