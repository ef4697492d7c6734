// Owns what a route of the admin API is: one declaration from which it is registered, validated and described. Refuses
// unknown and repeated parameters: a flag that is spelled wrong must not pass for one that was not given.

import * as z from "zod/mini";
import { en } from "zod/locales";
import type { Feature } from "../deployment/deployment.ts";
import type { Catalog } from "../content/define/catalog.ts";
import type { NewResource } from "../calls/resource-store.ts";
import type { SessionEnv } from "../sessions/session-door.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { DirectoryEnv } from "../tenants/directory/directory.ts";
import type { HostVars } from "../tenants/directory/worker-hosts.ts";
import type { SecretsKeyEnv } from "../auth/secrets-key.ts";
import { readJson } from "./json-body.ts";
import type { OperatorRole } from "./platform/operator-tables.ts";
import type { PlatformEnv } from "./platform/platform-object.ts";
import { ProblemError, rulesOf, type FieldRule } from "./problem.ts";

/** What the admin API needs of a Worker's bindings. */
export interface AdminEnv extends DirectoryEnv, HostVars, PlatformEnv, SecretsKeyEnv, SessionEnv {
  readonly TENANTS: DurableObjectNamespace;
  readonly BODIES: KVNamespace;
  /** The first owner's token: a Worker secret. */
  readonly ADMIN_TOKEN?: string;
  /** Set by `npm start` only. */
  readonly DEV_ADMIN_TOKEN?: string;
}

export interface AdminOptions {
  /** Tenants that are declared in code: nobody makes them, and they cannot be deleted. */
  readonly tenants: ReadonlyMap<string, Tenant<NewResource>>;
  readonly catalog: Catalog;
  /** Features, whose tools and prompts a tenant has beside its own. */
  readonly features?: readonly Feature[];
  /** The path under which the Worker is mounted; the root when absent. */
  readonly path?: string;
  /** Whether a browser's page of this origin may call; when absent, none may. */
  readonly originAllowed?: (origin: string, env: AdminEnv) => boolean;
  /** Hears of errors of which callers are told no more than the request id. */
  readonly onError?: (error: unknown) => void;
}

export interface Caller {
  readonly name: string;
  readonly role: OperatorRole;
  /** The tenants that the caller may work with; null: all. */
  readonly tenants: readonly string[] | null;
}

/** What every handler gets, whatever its route. */
export interface Desk {
  readonly env: AdminEnv;
  readonly options: AdminOptions;
  readonly caller: Caller;
  readonly request: Request;
}

export interface RouteCall<Params, Query, Body> extends Desk {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
}

export interface RouteAnswer {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const OWNER: readonly OperatorRole[] = ["owner"];
const WRITERS: readonly OperatorRole[] = ["owner", "operator"];
const READERS: readonly OperatorRole[] = [...WRITERS, "auditor"];

/** Who may use a route. `authorize` lets a tenant-admin in only where the path names one of its tenants. */
export const ROLES = {
  owner: OWNER,
  ownerRead: [...OWNER, "auditor"],
  platform: WRITERS,
  platformRead: READERS,
  tenant: [...WRITERS, "tenant-admin"],
  tenantRead: [...READERS, "tenant-admin"],
} as const satisfies Record<string, readonly OperatorRole[]>;

export type Method = "get" | "post" | "put" | "delete";

export interface Reply {
  readonly status: number;
  /** undefined: no body. */
  readonly schema?: z.ZodMiniType;
  /** application/json when absent. */
  readonly mediaType?: string;
  readonly about: string;
}

interface Declared {
  readonly method: Method;
  /** The path below /admin/v1, with {name} for parameters. */
  readonly path: string;
  readonly summary: string;
  readonly roles: readonly OperatorRole[];
  readonly replies: readonly Reply[];
  /** Headers that the description names. The handler reads them itself. */
  readonly conditions?: readonly ("If-Match" | "If-None-Match")[];
}

export interface Route extends Declared {
  readonly params: z.ZodMiniObject;
  readonly query: z.ZodMiniObject;
  /** "stream": raw bytes, which the handler reads. */
  readonly body: z.ZodMiniType | "stream" | undefined;
  serve(desk: Desk, params: Readonly<Record<string, string>>): Promise<Response>;
}

export interface RouteOptions<
  P extends z.ZodMiniObject,
  Q extends z.ZodMiniObject,
  B extends z.ZodMiniType,
> extends Declared {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B | "stream";
  readonly handle: (call: RouteCall<z.output<P>, z.output<Q>, z.output<B>>) => Promise<RouteAnswer | Response>;
}

const NOTHING = z.strictObject({});

export function route<
  P extends z.ZodMiniObject = typeof NOTHING,
  Q extends z.ZodMiniObject = typeof NOTHING,
  B extends z.ZodMiniType = z.ZodMiniUndefined,
>(options: RouteOptions<P, Q, B>): Route {
  const { params = NOTHING, query = NOTHING, body, handle: _, ...declared } = options;
  return {
    ...declared,
    params,
    query,
    body,
    serve: async (desk, given) => {
      const { request } = desk;
      const call = {
        ...desk,
        params: parse(params, given) as z.output<P>,
        query: parse(query, queryOf(request, query)) as z.output<Q>,
        body: (body === undefined || body === "stream"
          ? undefined
          : parse(body, await readJson(request))) as z.output<B>,
      };
      return responseOf(await options.handle(call));
    },
  };
}

function responseOf(answer: RouteAnswer | Response): Response {
  if (answer instanceof Response) return answer;
  const { body, status = body === undefined ? 204 : 200, headers = {} } = answer;
  if (body === undefined) return new Response(null, { status, headers });
  return Response.json(body, { status, headers });
}

const { localeError: inEnglish } = en();

/** Throws a problem that names each field and its rule. */
export function parse<T extends z.ZodMiniType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value, { error: inEnglish });
  if (parsed.success) return parsed.data;
  throw new ProblemError("invalid-input", { errors: rulesOf(parsed.error.issues) });
}

function queryOf(request: Request, schema: z.ZodMiniObject): Record<string, unknown> {
  const given = new URL(request.url).searchParams;
  const errors: FieldRule[] = [];
  const query: Record<string, unknown> = {};
  for (const name of new Set(given.keys())) {
    const values = given.getAll(name);
    const wanted = Object.hasOwn(schema.shape, name) ? within(schema.shape[name] as z.ZodMiniType) : undefined;
    if (!wanted) errors.push({ field: name, rule: "is not a known parameter" });
    else if (wanted instanceof z.ZodMiniArray) query[name] = values;
    else if (values.length > 1) errors.push({ field: name, rule: "must be given once" });
    else query[name] = readText(wanted, values[0] ?? "");
  }
  if (errors.length > 0) throw new ProblemError("invalid-input", { errors });
  return query;
}

/** The schema of a parameter that is given: without what makes it optional. */
function within(schema: z.ZodMiniType): z.ZodMiniType {
  const isWrapped = schema instanceof z.ZodMiniOptional || schema instanceof z.ZodMiniDefault;
  return isWrapped ? within(schema.def.innerType as z.ZodMiniType) : schema;
}

const FLAGS: Readonly<Record<string, boolean>> = { "1": true, true: true, "0": false, false: false };

/** Reads a parameter, which is text, as the type that its schema wants. The schema refuses what does not fit. */
function readText(schema: z.ZodMiniType, text: string): unknown {
  if (schema instanceof z.ZodMiniNumber) return Number(text);
  return schema instanceof z.ZodMiniBoolean && Object.hasOwn(FLAGS, text) ? FLAGS[text] : text;
}

/** A number in the query, with one wording for a value that is none. */
export const queryNumber = () =>
  z.number({ error: ({ code }) => (code === "invalid_type" ? "must be a number" : undefined) });

/** Parameters that several routes share. */
export const Flag = z.optional(z.boolean({ error: "1 or 0" }));
export const PageQuery = {
  cursor: z.optional(z.string().check(z.maxLength(8192))),
  limit: z._default(queryNumber().check(z.int(), z.minimum(1), z.maximum(1000)), 100),
};
