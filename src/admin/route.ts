// A route of the admin API: registration, validation and description from one declaration. Unknown and repeated
// parameters are errors: a misspelt flag must not count as absent.

import type * as z from "zod";
import type { TenantResolver } from "../deployment/tenant-resolver.ts";
import type { BuiltInFeature } from "../deployment/deployment.ts";
import type { OperatorCaller } from "../deployment/operator-sign-in.ts";
import type { Catalog } from "../handlers/catalog.ts";
import type { NewResource } from "../handlers/resource-store.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { ErrorContext } from "../telemetry/error-line.ts";
import type { TenantUid } from "../tenants/object/tenant-uid.ts";
import type { DirectoryEntry } from "../tenants/directory/directory-object.ts";
import type { DirectoryEnv } from "../tenants/directory/directory.ts";
import type { HostVars } from "../tenants/directory/worker-hosts.ts";
import type { OriginVars } from "../auth/origin.ts";
import type { SecretsKeyEnv } from "../auth/secrets-key.ts";
import { ProblemError } from "./problem.ts";
import { validate } from "./validate.ts";
import { readJson, WELL_FORMED_RULE } from "./json-body.ts";
import type { AdminEndpoint, EndpointName, Method } from "./endpoint.ts";
import { object } from "./schema-parts.ts";
import type { FieldRule } from "../tenants/document/tenant-document.ts";

export interface AdminEnv extends DirectoryEnv, HostVars, OriginVars, SecretsKeyEnv {
  /** The first owner token: a Worker secret. */
  readonly ADMIN_TOKEN?: string;
  /** Set only by `npm start`. */
  readonly DEV_ADMIN_TOKEN?: string;
}

export interface AdminOptions {
  /** Tenants declared in code. The API can neither create nor delete them. */
  readonly tenants: ReadonlyMap<string, Tenant<NewResource>>;
  /** The author's function that declares tenants on demand. */
  readonly tenantResolver?: TenantResolver | undefined;
  readonly catalog: Catalog;
  /** Features whose tools and prompts a tenant has in addition to its own. */
  readonly features?: readonly BuiltInFeature[];
  /** The path under which the Worker is mounted. Defaults to the root. */
  readonly path?: string;
  /** Whether a browser page of this origin may call. By default none may. */
  readonly originAllowed?: (origin: string, env: AdminEnv) => boolean;
  /** Receives the errors of which callers learn only the request id. */
  readonly onError?: (error: unknown, place?: ErrorContext) => void;
}

/** The tenant of a request: the one that had the name before the body arrived. */
export interface ResolvedTenant {
  /** null: declared in code. */
  readonly entry: DirectoryEntry | null;
  readonly created: TenantUid;
  readonly declared?: Tenant<NewResource> | undefined;
  /** The author's function declared the tenant once and no longer does. It can only be shown and deleted. */
  readonly isOrphaned?: boolean;
}

/** The context of every handler, for any route. */
export interface AdminContext {
  /** Absent if the path names no tenant. Rejects if no tenant has the name. */
  readonly resolvedTenant?: Promise<ResolvedTenant> | undefined;
  readonly env: AdminEnv;
  readonly options: AdminOptions;
  readonly caller: OperatorCaller;
  readonly request: Request;
}

export interface RouteContext<Params, Query, Body> extends AdminContext {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
}

export interface RouteResponse {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route extends Pick<AdminEndpoint, "summary" | "roles" | "isForKeys" | "replies" | "conditions"> {
  readonly method: Method;
  /** The path below /admin/v1, with {name} for parameters. */
  readonly path: string;
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body: z.ZodType | "stream" | undefined;
  serve(context: AdminContext, params: Readonly<Record<string, string>>): Promise<Response>;
}

type Output<S> = S extends z.ZodType ? z.output<S> : undefined;
type Member<E, Name extends string> = E extends { readonly [N in Name]: infer S } ? Output<S> : Record<string, never>;
type ContextOf<E> = RouteContext<Member<E, "params">, Member<E, "query">, Member<E, "body">>;
type Handler<E> = (context: ContextOf<E>) => Promise<RouteResponse | Response>;

export function defineRoutes<T extends Readonly<Record<EndpointName, AdminEndpoint>>>(
  table: T,
  handlers: { readonly [Name in keyof T]: Handler<T[Name]> },
): readonly Route[] {
  return Object.entries<AdminEndpoint>(table).map(([name, endpoint]) =>
    routeOf(name, endpoint, handlers[name as keyof T] as Handler<unknown>),
  );
}

const NO_PARAMS = object({});

function routeOf(name: string, endpoint: AdminEndpoint, handle: Handler<unknown>): Route {
  const [method = "", path = ""] = name.split(" ");
  const { params = NO_PARAMS, query = NO_PARAMS, body } = endpoint;
  return {
    ...endpoint,
    method: method as Method,
    path,
    params,
    query,
    body,
    serve: async (context, pathParams) => {
      const { request } = context;
      const routeContext = {
        ...context,
        params: parseParams(params, pathParams),
        query: parseParams(query, parseQuery(request, query)),
        body: body === undefined || body === "stream" ? undefined : validateBody(body, await readJson(request)),
      };
      return toResponse(await handle(routeContext as ContextOf<unknown>));
    },
  };
}

function toResponse(answer: RouteResponse | Response): Response {
  if (answer instanceof Response) return answer;
  const { body, status = body === undefined ? 204 : 200, headers = {} } = answer;
  if (body === undefined) return new Response(null, { status, headers });
  return Response.json(body, { status, headers });
}

/** The value with defaults. Throws a problem that names each wrong field and its rule. */
function parseParams<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const validated = validate(schema, value);
  if ("errors" in validated) throw new ProblemError("invalid-input", { errors: validated.errors });
  return validated.value;
}

/**
 * Returns the body as sent, so that members keep their order. A document's members have the same error paths alone
 * and inside a new tenant.
 */
function validateBody(schema: z.ZodType, value: unknown): unknown {
  const validated = validate(schema, value);
  if (!("errors" in validated)) return value;
  const errors = validated.errors.map(({ field, rule }) => ({ field: field.replace(/^document\./, ""), rule }));
  throw new ProblemError("invalid-input", { errors });
}

function parseQuery(request: Request, { shape }: z.ZodObject): unknown {
  const { search, searchParams } = new URL(request.url);
  const errors: FieldRule[] = malformedParams(search);
  const query: Record<string, unknown> = {};
  for (const [name, pairs] of Map.groupBy(searchParams, ([param]) => param)) {
    const values = pairs.map(([, value]) => value);
    const type = Object.hasOwn(shape, name) ? typeOf(shape[name]) : undefined;
    if (type === undefined) errors.push({ field: name, rule: "is not a known parameter" });
    else if (type === "array") query[name] = values;
    else if (values.length > 1) errors.push({ field: name, rule: "must be given once" });
    else query[name] = parseParam(type, values[0] ?? "");
  }
  if (errors.length > 0) throw new ProblemError("invalid-input", { errors });
  return query;
}

interface ParameterDef {
  readonly type: string;
  readonly format?: string;
  /** The wrapped schema of an optional value, or of a list. */
  readonly innerType?: z.core.$ZodType;
  readonly out?: z.core.$ZodType;
}

/** The type of a parameter's value, if present. */
function typeOf(schema: z.core.$ZodType | undefined): string | undefined {
  const def: ParameterDef | undefined = schema?._zod.def;
  const inner = def?.innerType ?? def?.out;
  if (inner) return typeOf(inner);
  return def?.format === "safeint" ? "integer" : def?.type;
}

const BOOLEAN_TEXTS: Readonly<Record<string, boolean>> = { "1": true, true: true, "0": false, false: false };

/** Parameters with a lone surrogate, which decoding would replace with other characters. */
function malformedParams(search: string): FieldRule[] {
  const malformed = search
    .slice(1)
    .split("&")
    .filter((pair) => /%ed%[ab]/i.test(pair));
  return malformed.map((pair) => ({ field: [...new URLSearchParams(pair).keys()][0] ?? "", rule: WELL_FORMED_RULE }));
}

/** JavaScript's `Number` also accepts `0x10`, `1e2`, whitespace and the empty text. */
const DECIMAL_PATTERNS = { integer: /^\d+$/, number: /^\d+(?:\.\d+)?$/ } as const;

/** Converts a parameter's text to the type of its schema. Unconvertible text stays text, and the schema rejects it. */
function parseParam(type: string, text: string): unknown {
  if (type === "number" || type === "integer") return DECIMAL_PATTERNS[type].test(text) ? Number(text) : text;
  return type === "boolean" && Object.hasOwn(BOOLEAN_TEXTS, text) ? BOOLEAN_TEXTS[text] : text;
}
