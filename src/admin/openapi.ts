// Owns the OpenAPI 3.1 description of the admin API, made from the very schemas that validate it.
// https://spec.openapis.org/oas/v3.1.1

import { isObject } from "../protocol/jsonrpc.ts";
import { COMPONENTS } from "./contract.ts";
import { PROBLEM_KEYS, statusOf } from "./problem.ts";
import type { ParameterShape, Reply, Route } from "./route.ts";
import type { Shape } from "./shapes.ts";

type Json = Readonly<Record<string, unknown>>;

export interface OpenApi extends Json {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> } & Json;
}

const ROOT = "/admin/v1";

/** `path`: where the Worker is mounted; empty at the root. */
export function describe(routes: readonly Route[], version: string, path = ""): OpenApi {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) (paths[ROOT + route.path] ??= {})[route.method] = operationOf(route);
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
      schemas: Object.fromEntries(Object.entries(COMPONENTS).map(([name, schema]) => [name, written(schema)])),
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "An operator's token." } },
      responses: {
        Problem: {
          description: `One of ${PROBLEM_KEYS.map((key) => `${statusOf(key)} ${key}`).join(", ")}`,
          content: { "application/problem+json": { schema: referred(COMPONENTS.Problem) } },
        },
      },
    },
  };
}

const NAMES: ReadonlyMap<unknown, string> = new Map(Object.entries(COMPONENTS).map(([name, schema]) => [schema, name]));

/** A schema as it stands, with references to the components in it. */
function written(schema: Json): Json {
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, referred(value)]));
}

function referred<T>(value: T): T {
  const name = NAMES.get(value);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` } as T;
  if (Array.isArray(value)) return value.map(referred) as T;
  return isObject(value) ? (written(value) as T) : value;
}

function operationOf(route: Route): Json {
  const { method, path, summary, roles, isForKeys, body, replies } = route;
  return {
    operationId: `${method}${path.replaceAll(/[/{}]+(.)?/g, (_whole, letter: string | undefined) => letter?.toUpperCase() ?? "")}`,
    summary,
    description: isForKeys ? "Authorization: Bearer, and the key itself." : `Roles: ${roles.join(", ")}.`,
    tags: [path.startsWith("/tenants/{id}/") ? (path.split("/")[3] ?? "") : (path.split("/")[1] ?? "")],
    parameters: parametersOf(route),
    ...(body === undefined ? {} : { requestBody: { required: body !== "stream", content: contentOf(body) } }),
    responses: {
      ...Object.fromEntries(replies.map((reply) => [String(reply.status), replyOf(reply)])),
      default: { $ref: "#/components/responses/Problem" },
    },
  };
}

function parametersOf({ params, query, conditions = [] }: Route): Json[] {
  const members = ({ properties, required = [] }: ParameterShape, where: "path" | "query") =>
    Object.entries(properties).map(([name, { description, ...schema }]) => ({
      name,
      in: where,
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: referred(schema),
    }));
  const headers = conditions.map((name) => ({ name, in: "header", required: false, schema: { type: "string" } }));
  return [...members(params, "path"), ...members(query, "query"), ...headers];
}

function contentOf(body: Shape | "stream"): Json {
  return body === "stream" ? { "*/*": {} } : { "application/json": { schema: referred(body) } };
}

function replyOf({ about, schema, mediaType }: Reply): Json {
  if (schema === undefined && mediaType === undefined) return { description: about };
  const content = schema === undefined ? {} : { schema: referred(schema) };
  return { description: about, content: { [mediaType ?? "application/json"]: content } };
}
