// The declaration of an admin API endpoint, without its handler. Clients see only this part.

import * as z from "zod";
import { type Role, TenantId, type Infer } from "./contract.ts";
import { object, textUpTo, typeError } from "./schema-parts.ts";

type AdminRole = Infer<typeof Role>;

const OWNER: readonly AdminRole[] = ["owner"];
const WRITERS: readonly AdminRole[] = ["owner", "operator"];
const READERS: readonly AdminRole[] = [...WRITERS, "auditor"];

/**
 * The roles that may call an endpoint. `authorizeRoute` admits a tenant-admin only if the path names one of its
 * tenants.
 */
export const ROLES = {
  owner: OWNER,
  ownerRead: [...OWNER, "auditor"],
  platform: WRITERS,
  platformRead: READERS,
  tenant: [...WRITERS, "tenant-admin"],
  tenantRead: [...READERS, "tenant-admin"],
} as const satisfies Record<string, readonly AdminRole[]>;

export interface EndpointReply {
  readonly status: number;
  /** undefined: no body. */
  readonly schema?: z.ZodType;
  /** Defaults to application/json. */
  readonly mediaType?: string;
  /** The only answer to a request with `dryRun`, and to no other request. */
  readonly isOfDryRun?: true;
  readonly about: string;
}

export interface AdminEndpoint {
  readonly summary: string;
  readonly roles: readonly AdminRole[];
  /** The endpoint takes a key of the tenant and no other token. */
  readonly isForKeys?: true;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** "stream": raw bytes, which the handler reads. */
  readonly body?: z.ZodType | "stream";
  readonly replies: readonly EndpointReply[];
  /** Conditional headers for the description. The handler reads them itself. */
  readonly conditions?: readonly ("If-Match" | "If-None-Match")[];
}

export type Method = "GET" | "POST" | "PUT" | "DELETE";
/** The method, and the path below /admin/v1 with {name} for parameters. */
export type EndpointName = `${Method} /${string}`;

/** Preserves the literal type of each endpoint. */
export function defineEndpoints<const T extends Readonly<Record<EndpointName, AdminEndpoint>>>(table: T): T {
  return table;
}

export const TenantParams = object({ id: TenantId });

/** Parameters that several endpoints share. */
export const BooleanParam = z.boolean(typeError("1 or 0")).meta({ "x-rule": "1 or 0" });
export const UnknownNamesParam = BooleanParam.meta({
  description: "With true, a name that matches nothing is a warning, not an error.",
});
const INTEGER_RULE = "must be a whole number";
export const IntegerParam = (maximum: number, minimum = 0) =>
  z.int(typeError(INTEGER_RULE)).min(minimum).max(maximum).meta({ "x-rule": INTEGER_RULE });
export const PageQuery = {
  cursor: textUpTo(8192).exactOptional(),
  limit: IntegerParam(1000, 1).default(100),
};

export const LINES_TYPE = "application/x-ndjson";

export function linesReply<const S extends z.ZodType>(schema: S, about: string) {
  return { status: 200, schema, mediaType: LINES_TYPE, about } as const;
}
