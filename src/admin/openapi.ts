// The OpenAPI 3.1 description of the admin API, generated from the schemas that validate requests.
// https://spec.openapis.org/oas/v3.1.1

import * as z from "zod";
import { COMPONENTS } from "./contract.ts";
import { omitSafeIntegerBounds } from "./schema-parts.ts";
import { PROBLEM_KEYS, problemStatus } from "./problem.ts";
import type { EndpointReply } from "./endpoint.ts";
import type { Route } from "./route.ts";

type Json = Readonly<Record<string, unknown>>;

export interface OpenApi extends Json {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> } & Json;
}

const ROOT = "/admin/v1";

/** `path`: where the Worker is mounted; empty at the root. */
export function describeRoutes(routes: readonly Route[], version: string, path = ""): OpenApi {
  const writer = new SchemaWriter(routes);
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes)
    (paths[ROOT + route.path] ??= {})[route.method.toLowerCase()] = operationOf(route, writer);
  return {
    openapi: "3.1.1",
    info: {
      title: "tenantry admin API",
      version,
      description: "Manages tenants and their data. Every error is a problem document (RFC 9457).",
    },
    servers: [{ url: path || "/" }],
    security: [{ token: [] }],
    paths,
    components: {
      schemas: writer.components,
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "An operator's token." } },
      responses: {
        Problem: {
          description: `One of ${PROBLEM_KEYS.map((key) => `${problemStatus(key)} ${key}`).join(", ")}`,
          content: { "application/problem+json": { schema: writer.schemaFor(COMPONENTS.Problem) } },
        },
      },
    },
  };
}

type WrittenSchema = z.core.JSONSchema.BaseSchema;

/** All schemas of the routes as JSON Schema, with references to the named components. */
class SchemaWriter {
  readonly #ids = z.registry<{ id: string }>();
  readonly #schemaFor: Readonly<Record<string, Json>>;

  constructor(routes: readonly Route[]) {
    for (const [id, schema] of Object.entries(COMPONENTS)) this.#ids.add(schema, { id });
    for (const schema of routes.flatMap(schemasOf)) {
      if (!this.#ids.has(schema)) this.#ids.add(schema, { id: `inline ${crypto.randomUUID()}` });
    }
    const { schemas } = z.toJSONSchema(this.#ids, { io: "input", uri: refOf, override: omitSafeIntegerBounds });
    this.#schemaFor = Object.fromEntries(
      Object.entries(schemas).map(([id, json]) => [id, { ...json, ...OMITTED_KEYS }]),
    );
  }

  get components(): Readonly<Record<string, Json>> {
    return Object.fromEntries(Object.entries(this.#schemaFor).filter(([id]) => Object.hasOwn(COMPONENTS, id)));
  }

  schemaFor(schema: z.ZodType): Json {
    const { id = "" } = this.#ids.get(schema) ?? {};
    return Object.hasOwn(COMPONENTS, id) ? { $ref: refOf(id) } : (this.#schemaFor[id] ?? {});
  }
}

function schemasOf({ params, query, body, replies }: Route): z.ZodType[] {
  const bodySchemas = body === undefined || body === "stream" ? [] : [body];
  return [params, query, ...bodySchemas, ...replies.flatMap(({ schema }) => schema ?? [])];
}

/** The OpenAPI document sets both keys where it must. JSON omits undefined members. */
const OMITTED_KEYS = { $id: undefined, $schema: undefined };

const refOf = (id: string) => `#/components/schemas/${id}`;

function operationOf(route: Route, writer: SchemaWriter): Json {
  const { method, path, summary, roles, isForKeys, body, replies } = route;
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[/{}]+(.)?/g, (_whole, letter: string | undefined) => letter?.toUpperCase() ?? "")}`,
    summary,
    description: isForKeys ? "Authorization: Bearer, followed by the key." : `Roles: ${roles.join(", ")}.`,
    tags: [path.startsWith("/tenants/{id}/") ? (path.split("/")[3] ?? "") : (path.split("/")[1] ?? "")],
    parameters: parametersOf(route, writer),
    ...(body === undefined ? {} : { requestBody: { required: body !== "stream", content: contentOf(body, writer) } }),
    responses: {
      ...Object.fromEntries(replies.map((reply) => [String(reply.status), replyOf(reply, writer)])),
      default: { $ref: "#/components/responses/Problem" },
    },
  };
}

function parametersOf({ params, query, conditions = [] }: Route, writer: SchemaWriter): Json[] {
  const members = (parameters: z.ZodObject, where: "path" | "query") => {
    const { properties = {}, required = [] } = writer.schemaFor(parameters) as WrittenSchema;
    return Object.entries(properties as Record<string, WrittenSchema>).map(([name, { description, ...schema }]) => ({
      name,
      in: where,
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema,
    }));
  };
  const headers = conditions.map((name) => ({ name, in: "header", required: false, schema: { type: "string" } }));
  return [...members(params, "path"), ...members(query, "query"), ...headers];
}

function contentOf(body: z.ZodType | "stream", writer: SchemaWriter): Json {
  return body === "stream" ? { "*/*": {} } : { "application/json": { schema: writer.schemaFor(body) } };
}

function replyOf({ about, schema, mediaType }: EndpointReply, writer: SchemaWriter): Json {
  if (schema === undefined && mediaType === undefined) return { description: about };
  const content = schema === undefined ? {} : { schema: writer.schemaFor(schema) };
  return { description: about, content: { [mediaType ?? "application/json"]: content } };
}
