// Owns the OpenAPI 3.1 description of the admin API, made from the very schemas that validate it.
// https://spec.openapis.org/oas/v3.1.1

import type * as z from "zod/mini";
import { writeZod, type Direction, type WrittenSchema } from "../calls/zod-json-schema.ts";
import { described, Problem } from "./contract.ts";
import { PROBLEM_KEYS, statusOf } from "./problem.ts";
import type { Reply, Route } from "./route.ts";

type Json = Readonly<Record<string, unknown>>;

export interface OpenApi extends Json {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> } & Json;
}

const ROOT = "/admin/v1";

/** `path`: where the Worker is mounted; empty at the root. */
export function describe(routes: readonly Route[], version: string, path = ""): OpenApi {
  const schemas: Record<string, Json> = {};
  const convert = createConverter(schemas);
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) (paths[ROOT + route.path] ??= {})[route.method] = operationOf(route, convert);
  const problem = convert(Problem, "output");
  return {
    openapi: "3.1.1",
    info: {
      title: "tenantry admin API",
      version,
      description: "Tenants, and all that belongs to them. Every refusal is a problem document (RFC 9457).",
    },
    servers: [{ url: path || "/" }],
    security: [{ token: [] }],
    paths,
    components: {
      schemas,
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "An operator's token." } },
      responses: {
        Problem: {
          description: `One of ${PROBLEM_KEYS.map((key) => `${statusOf(key)} ${key}`).join(", ")}`,
          content: { "application/problem+json": { schema: problem } },
        },
      },
    },
  };
}

type Convert = (schema: z.ZodMiniType, io: Direction) => Json;

/** Schemas with an id become components, to which others refer. */
function createConverter(schemas: Record<string, Json>): Convert {
  return (schema, io) => {
    const { $defs = {}, ...json } = relocate(writeZod(schema, io, described)) as WrittenSchema;
    Object.assign(schemas, $defs);
    return json;
  };
}

function relocate(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relocate);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === "$ref" && typeof item === "string" ? item.replace("#/$defs/", "#/components/schemas/") : relocate(item),
    ]),
  );
}

function operationOf(route: Route, convert: Convert): Json {
  const { method, path, summary, roles, body, replies } = route;
  return {
    operationId: `${method}${path.replaceAll(/[/{}]+(.)?/g, (_whole, letter: string | undefined) => letter?.toUpperCase() ?? "")}`,
    summary,
    description: `Roles: ${roles.join(", ")}.`,
    tags: [path.startsWith("/tenants/{id}/") ? (path.split("/")[3] ?? "") : (path.split("/")[1] ?? "")],
    parameters: parametersOf(route, convert),
    ...(body === undefined ? {} : { requestBody: { required: body !== "stream", content: contentOf(body, convert) } }),
    responses: {
      ...Object.fromEntries(replies.map((reply) => [String(reply.status), replyOf(reply, convert)])),
      default: { $ref: "#/components/responses/Problem" },
    },
  };
}

function parametersOf({ params, query, conditions = [] }: Route, convert: Convert): Json[] {
  const members = (schema: z.ZodMiniObject, where: "path" | "query") =>
    Object.entries(schema.shape).map(([name, member]) => {
      const { description, ...json } = convert(member as z.ZodMiniType, "input");
      const required = where === "path" || !(member as z.ZodMiniType).safeParse(undefined).success;
      return { name, in: where, required, ...(description === undefined ? {} : { description }), schema: json };
    });
  const headers = conditions.map((name) => ({ name, in: "header", required: false, schema: { type: "string" } }));
  return [...members(params, "path"), ...members(query, "query"), ...headers];
}

function contentOf(body: z.ZodMiniType | "stream", convert: Convert): Json {
  return body === "stream" ? { "*/*": {} } : { "application/json": { schema: convert(body, "input") } };
}

function replyOf({ about, schema, mediaType }: Reply, convert: Convert): Json {
  if (schema === undefined && mediaType === undefined) return { description: about };
  const content = schema === undefined ? {} : { schema: convert(schema, "output") };
  return { description: about, content: { [mediaType ?? "application/json"]: content } };
}
