// docs/admin-api.md: each route of the admin API with its fields, from the table of endpoints.

import type * as z from "zod";
import { COMPONENTS } from "../../src/admin/contract.ts";
import type { AdminEndpoint, EndpointReply } from "../../src/admin/endpoint.ts";
import { ENDPOINTS } from "../../src/admin/endpoints/all-endpoints.ts";
import { jsonSchemaOf } from "../../src/admin/schema-parts.ts";
import { COMMON_PARAMETERS, ROUTE_WORDS, type RouteWords } from "./admin-api-words.ts";
import { shapeWords, type Shape } from "./shape-words.ts";
import { table, wordsOf } from "./table.ts";

const HEAD = `# The admin API

This page lists all routes of the admin API. With them, programs manage tenants, keys and resources as the [commands](commands.md) do. Set \`TENANTRY_TOKEN\` to an
operator's token, such as the one that \`npm start\` prints. This creates a tenant and a key:

\`\`\`sh
export ADMIN=http://localhost:8362/admin/v1
curl -sf $ADMIN/tenants -H "Authorization: Bearer $TENANTRY_TOKEN" -H 'Content-Type: application/json' \\
  -d '{"id":"acme","document":{"title":"Acme Inc.","mode":"key"}}'
curl -sf $ADMIN/tenants/acme/keys -H "Authorization: Bearer $TENANTRY_TOKEN" -H 'Content-Type: application/json' \\
  -d '{"name":"first"}'
\`\`\`

The first answer has the tenant's \`url\`, the second one has the key as \`token\`. In TypeScript, use the [typed client](admin-client.md). Your Worker needs the feature
[\`admin()\`](api-start.md#deploy). \`npm run reference\` writes this page from the sources.

## Requests

- Every route is below \`/admin/v1\`. If \`createWorker\` has a \`path\`, the path comes first: \`/ai/admin/v1/tenants\`. \`{id}\` is the id of a tenant.
- Send an operator's token as \`Authorization: Bearer\`: \`ADMIN_TOKEN\`, a token from \`POST /operators\`, or one from your company's login (see [Operators](operators.md)). Use \`https\`. Use \`http\` only on your own machine.
- Send a body as JSON with \`Content-Type: application/json\`. A body can have at most 2 MiB. A resource has its own \`Content-Type\` and its own limit.
- Unknown fields and parameters are refused with 422. In a query, you can write \`1\` for \`true\` and \`0\` for \`false\`.
- Encode names in a path with \`encodeURIComponent\`. Times are in UTC, such as \`2026-11-22T10:00:00Z\`.

Some routes also take these parameters and headers:

| parameter or header    | value                      | meaning                                                          |
| ---------------------- | -------------------------- | ---------------------------------------------------------------- |
| \`limit\`              | 1 to 1,000                 | the number of items in a page; default 100                       |
| \`cursor\`             | the \`cursor\` of an answer | returns the next page                                            |
| \`dryRun\`             | \`true\`, \`false\`        | returns the changes, and writes nothing                          |
| \`wait\`               | \`true\`, \`false\`        | with \`true\`, the answer comes after the change took effect everywhere |
| \`unknownNames\`       | \`true\`, \`false\`        | accepts unknown names of tools and prompts, with a warning       |
| header \`If-Match\`    | an \`ETag\`                | writes only if the \`ETag\` is still the same; otherwise 412     |
| header \`If-None-Match\` | an \`ETag\` to read        | answers 304 if the \`ETag\` is still the same                    |
| header \`If-None-Match\` | \`*\` to write             | writes only if the resource does not exist; otherwise 412        |

## OpenAPI

\`GET /admin/openapi.json\` returns the OpenAPI 3.1 document. It needs no token. It contains the schemas of all bodies and answers. In the tables below, the column "answer" shows the name of each schema, such as \`CreatedApiKey\`. \`GET /admin/login\` also needs no token. It returns the settings of your company's login, or 404.

## Pages

A route with \`limit\` and \`cursor\` returns \`items\`. If there are more items, the answer also has a \`cursor\`. Send this \`cursor\` to the same route to get the next page:

\`\`\`sh
curl -sf "$ADMIN/tenants?limit=50" -H "Authorization: Bearer $TENANTRY_TOKEN"
\`\`\`

A page has at most 99 audit entries, 100 errors or 50 rollouts, even if \`limit\` is larger. The routes \`export\`, \`calls\` and \`usage/calls\` have no pages. They return
\`application/x-ndjson\`, one JSON object a line.

## Changes

- **A change that takes something away** is already in effect everywhere when you get the answer. Examples are revoked keys, suspensions, and tools that a document hides.
- **Any other change of a document** takes effect a few seconds later. The answer gives this time as \`effectiveAt\`. With \`wait=1\`, the answer comes after this time.
- **For a block or a rollout**, the answer comes at once, with the status 202. Its field \`rollout\` contains a version. \`GET /rollouts/{version}\` shows the progress.
- **Warnings**: an answer can contain \`warnings\`, for example about a pattern that matches nothing.

To keep two programs from overwriting each other, read the \`ETag\` of the document, and send it as \`If-Match\`. The second program
then gets 412. Changes of keys, secrets and suspensions also change this \`ETag\`:

\`\`\`sh
ETAG=$(curl -sf -o acme.json -w '%header{etag}' $ADMIN/tenants/acme/document -H "Authorization: Bearer $TENANTRY_TOKEN")
curl -sf -X PUT $ADMIN/tenants/acme/document -H "Authorization: Bearer $TENANTRY_TOKEN" -H 'Content-Type: application/json' \\
  -H "If-Match: $ETAG" -d '{"title":"Acme Ltd.","mode":"key"}'
\`\`\`

## Errors and retries

The body of an error is \`application/problem+json\`. See [Errors](errors.md#admin-api) for all errors and their statuses.

| status                       | routes                                                          |
| ---------------------------- | --------------------------------------------------------------- |
| 401, 403, 422, 429, 500, 503 | all routes                                                      |
| 404                          | routes with a name in the path                                  |
| 408, 413, 415                | routes with a body                                              |
| 409                          | routes that write, and routes of a feature that the Worker lacks |
| 412                          | routes with \`If-Match\`, \`If-None-Match\` or \`created\`      |

See "[Create tenants from your own code](admin-client.md)" for the requests that you may repeat after an error.`;

export function adminApiPage(): string {
  const routes = wordsOf("route", ROUTE_WORDS, Object.keys(ENDPOINTS));
  const groups = Map.groupBy(routes, ([route]) => resourceOf(route));
  const sections = [...groups].map(([resource, some]) => {
    const title = resource.charAt(0).toUpperCase() + resource.slice(1).replaceAll("-", " ");
    const rows = some.flatMap(([route, words]) => rowsOf(route, words));
    return `## ${title}\n\n${table(["route or field", "meaning", "roles or value", "also takes", "answer"], rows)}`;
  });
  return `${[HEAD, ...sections].join("\n\n")}\n`;
}

/** The part of the path that names what the route is about. */
function resourceOf(route: string): string {
  const [, resource = "", , ofTenant = resource] = route.split("/");
  return resource === "tenants" ? ofTenant : resource;
}

interface Field {
  readonly name: string;
  readonly label: string;
  readonly value: string;
}

function rowsOf(route: string, [about, words = {}]: RouteWords): string[][] {
  const endpoint: AdminEndpoint = ENDPOINTS[route as keyof typeof ENDPOINTS];
  const { roles, isForKeys, conditions = [], replies } = endpoint;
  const parameters = fieldsOf("query", endpoint.query);
  const isCommon = ({ name }: Field) => COMMON_PARAMETERS.includes(name);
  const common = [...parameters.filter(isCommon).map(({ name }) => name), ...conditions];
  const own = [...parameters.filter((one) => !isCommon(one)), ...bodyFieldsOf(endpoint, words)];
  const names = own.map(({ name }) => name);
  const meanings = new Map(wordsOf(`field of ${route}`, words, names));
  return [
    [
      `\`${route}\``,
      about,
      isForKeys ? "the key" : roles.join(", "),
      common.map((name) => `\`${name}\``).join(", "),
      replyWords(replies),
    ],
    ...own.map(({ name, label, value }) => [label, meanings.get(name) ?? "", value, "", ""]),
  ];
}

/** One field `body` for bytes, and for a body that another page describes. */
function bodyFieldsOf({ body }: AdminEndpoint, words: Readonly<Record<string, string>>): readonly Field[] {
  if (body === "stream") return [{ name: "body", label: "body", value: "bytes" }];
  if (Object.hasOwn(words, "body")) return [{ name: "body", label: "body, required", value: "an object" }];
  return fieldsOf("body", body);
}

function fieldsOf(place: "query" | "body", schema: z.ZodType | undefined): readonly Field[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] }: Shape = jsonSchemaOf(schema);
  return Object.entries(properties).map(([name, shape]) => ({
    name,
    label: `${place} \`${name}\`${required.includes(name) ? ", required" : ""}`,
    value: shape.properties ? "an object" : shapeWords(shape),
  }));
}

const COMPONENT_NAMES = new Map<unknown, string>(Object.entries(COMPONENTS).map(([name, schema]) => [schema, name]));

/** The statuses, and the schema of the OpenAPI document that the answers have. */
function replyWords(replies: readonly EndpointReply[]): string {
  const named = Map.groupBy(replies, ({ schema }) => schemaName(schema));
  return [...named].map(([name, some]) => some.map(({ status }) => status).join(", ") + name).join(", ");
}

function schemaName(schema: z.ZodType | undefined): string {
  const name = COMPONENT_NAMES.get(schema);
  if (name !== undefined) return ` \`${name}\``;
  const { items } = (schema as Partial<z.ZodObject> | undefined)?.shape ?? {};
  const item = COMPONENT_NAMES.get((items as Partial<z.ZodArray> | undefined)?.element);
  return item === undefined ? "" : ` list of \`${item}\``;
}
