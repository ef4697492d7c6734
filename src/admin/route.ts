// Owns what a route of the admin API is: one declaration from which it is registered, validated and described. Refuses
// unknown and repeated parameters: a flag that is spelled wrong must not pass for one that was not given.

import { applyDefaults } from "../calls/json-schema.ts";
import type { Infer } from "../calls/schema.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { AskedTenants } from "../deployment/asked-tenants.ts";
import type { BuiltInFeature } from "../deployment/deployment.ts";
import type { OperatorCaller, OperatorRole } from "../deployment/operator-sign-in.ts";
import type { Catalog } from "../content/define/catalog.ts";
import type { NewResource } from "../calls/resource-store.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { FaultPlace } from "../telemetry/fault-line.ts";
import type { Incarnation } from "../tenants/authority/incarnation.ts";
import type { DirectoryEntry } from "../tenants/directory/directory-object.ts";
import type { DirectoryEnv } from "../tenants/directory/directory.ts";
import type { HostVars } from "../tenants/directory/worker-hosts.ts";
import type { OriginVars } from "../auth/origin.ts";
import type { SecretsKeyEnv } from "../auth/secrets-key.ts";
import { faultsOf, type FieldRule } from "./inspect.ts";
import { readJson, WHOLE_TEXT } from "./json-body.ts";
import { ProblemError } from "./problem.ts";
import { object, textUpTo, type Shape } from "./shapes.ts";

/** What the admin API needs of a Worker's bindings. */
export interface AdminEnv extends DirectoryEnv, HostVars, OriginVars, SecretsKeyEnv {
  /** The first owner's token: a Worker secret. */
  readonly ADMIN_TOKEN?: string;
  /** Set by `npm start` only. */
  readonly DEV_ADMIN_TOKEN?: string;
}

export interface AdminOptions {
  /** Tenants that are declared in code: nobody makes them, and they cannot be deleted. */
  readonly tenants: ReadonlyMap<string, Tenant<NewResource>>;
  /** Where the author's function knows them instead. */
  readonly asked?: AskedTenants | undefined;
  readonly catalog: Catalog;
  /** Features, whose tools and prompts a tenant has beside its own. */
  readonly features?: readonly BuiltInFeature[];
  /** The path under which the Worker is mounted; the root when absent. */
  readonly path?: string;
  /** Whether a browser's page of this origin may call; when absent, none may. */
  readonly originAllowed?: (origin: string, env: AdminEnv) => boolean;
  /** Hears of errors of which callers are told no more than the request id. */
  readonly onError?: (error: unknown, place?: FaultPlace) => void;
}

/** Which tenant a request means: the one that had the name before its body came. */
export interface MetTenant {
  /** null: declared in code. */
  readonly entry: DirectoryEntry | null;
  readonly created: Incarnation;
  /** Of one in code: as it is declared. */
  readonly declared?: Tenant<NewResource> | undefined;
  /** The author's function declared it once and does so no more: it can be shown and deleted, and nothing else. */
  readonly isGone?: boolean;
}

/** What every handler gets, whatever its route. */
export interface Desk {
  /** Absent where the path names no tenant. Rejects where there is none of the name. */
  readonly met?: Promise<MetTenant> | undefined;
  readonly env: AdminEnv;
  readonly options: AdminOptions;
  readonly caller: OperatorCaller;
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
  readonly schema?: JsonObject;
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
  /** Whoever has a key of the tenant calls it with that, and nobody with another token. */
  readonly isForKeys?: true;
  readonly replies: readonly Reply[];
  /** Headers that the description names. The handler reads them itself. */
  readonly conditions?: readonly ("If-Match" | "If-None-Match")[];
}

/** Parameters by name. */
export interface ParameterShape extends Shape {
  readonly properties: NonNullable<Shape["properties"]>;
}

export interface Route extends Declared {
  readonly params: ParameterShape;
  readonly query: ParameterShape;
  /** "stream": raw bytes, which the handler reads. */
  readonly body: Shape | "stream" | undefined;
  serve(desk: Desk, params: Readonly<Record<string, string>>): Promise<Response>;
}

export interface RouteOptions<
  P extends ParameterShape,
  Q extends ParameterShape,
  B extends Shape | undefined,
> extends Declared {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B | "stream";
  readonly handle: (call: RouteCall<Infer<P>, Infer<Q>, Infer<B>>) => Promise<RouteAnswer | Response>;
}

const NOTHING = object({});

export function route<
  P extends ParameterShape = typeof NOTHING,
  Q extends ParameterShape = typeof NOTHING,
  B extends Shape | undefined = undefined,
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
        params: held(params, given) as Infer<P>,
        query: held(query, queryOf(request, query)) as Infer<Q>,
        body: (body === undefined || body === "stream"
          ? undefined
          : heldBody(body, await readJson(request))) as Infer<B>,
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

/** The value. Throws a problem that names each field and its rule. */
function held(shape: Shape, value: unknown): unknown {
  const errors = faultsOf(shape, value);
  if (errors.length > 0) throw new ProblemError("invalid-input", { errors });
  return value;
}

/** Members of a document have the same paths whether it is sent alone or, to make a tenant of it, in another. */
function heldBody(shape: Shape, value: unknown): unknown {
  const errors = faultsOf(shape, value).map(({ field, rule }) => ({ field: field.replace(/^document\./, ""), rule }));
  if (errors.length > 0) throw new ProblemError("invalid-input", { errors });
  return value;
}

function queryOf(request: Request, shape: ParameterShape): unknown {
  const { search, searchParams: given } = new URL(request.url);
  const errors: FieldRule[] = brokenTexts(search);
  const query: Record<string, unknown> = {};
  for (const name of new Set(given.keys())) {
    const values = given.getAll(name);
    const wanted = Object.hasOwn(shape.properties, name) ? shape.properties[name] : undefined;
    if (!wanted) errors.push({ field: name, rule: "is not a known parameter" });
    else if (wanted.type === "array") query[name] = values;
    else if (values.length > 1) errors.push({ field: name, rule: "must be given once" });
    else query[name] = readText(wanted, values[0] ?? "");
  }
  if (errors.length > 0) throw new ProblemError("invalid-input", { errors });
  return applyDefaults(shape, query);
}

const FLAGS: Readonly<Record<string, boolean>> = { "1": true, true: true, "0": false, false: false };

/** Parameters with half of a surrogate pair, which decoding would turn into other characters. */
function brokenTexts(search: string): FieldRule[] {
  const broken = search
    .slice(1)
    .split("&")
    .filter((pair) => /%ed%[ab]/i.test(pair));
  return broken.map((pair) => ({ field: [...new URLSearchParams(pair).keys()][0] ?? "", rule: WHOLE_TEXT }));
}

/** JavaScript reads more as a number: `0x10`, `1e2`, blanks, nothing at all. */
const DECIMAL = { integer: /^\d+$/, number: /^\d+(?:\.\d+)?$/ } as const;

/** Reads a parameter, which is text, as the type that its shape wants. The shape refuses what does not fit. */
function readText({ type }: Shape, text: string): unknown {
  if (type === "number" || type === "integer") return DECIMAL[type].test(text) ? Number(text) : text;
  return type === "boolean" && Object.hasOwn(FLAGS, text) ? FLAGS[text] : text;
}

/** Parameters that several routes share. */
export const Flag = { type: "boolean", "x-rule": "1 or 0" } as const;
export const UnknownNames = {
  ...Flag,
  description: "A name that matches nothing yet is taken, with a warning, in place of being refused.",
} as const;
export const PageQuery = {
  cursor: textUpTo(8192),
  limit: { type: "integer", minimum: 1, maximum: 1000, default: 100, "x-rule": "must be a whole number" },
} as const;
