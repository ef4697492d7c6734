// Parses the Worker's variable OPERATORS: whose tokens admit operators, and which claim value gives which role. Rejects
// unknown members, so that a misspelled one is not taken for an absent one.

import { OPERATOR_ROLES, type OperatorClient, type OperatorRole } from "../../deployment/operator-sign-in.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { omitUndefined } from "../../protocol/members.ts";
import { isTenantId } from "../../tenants/document/tenant-definition.ts";
import { issuerRule } from "../issuers/issuer-rule.ts";

export interface OperatorConfig extends OperatorClient {
  /** `realm_access.roles` is a claim inside another claim. */
  readonly claim: string;
  /** By a value of the claim. A list names the tenants of a tenant-admin. */
  readonly roles: ReadonlyMap<unknown, OperatorRole | readonly string[]>;
}

interface RawOperatorConfig extends Omit<OperatorConfig, "roles" | "scopes"> {
  readonly scopes?: string[];
  readonly roles: Readonly<Record<string, OperatorRole | readonly string[]>>;
}

const REQUIRED = ["issuer", "clientId", "claim"];
const MEMBERS = [...REQUIRED, "audience", "scopes", "roles"];
const SCOPES = ["openid", "email"];

/**
 * Accepts both of wrangler's forms: a table in `[vars]`, or JSON. Returns a text that describes the error. `allow`: as
 * for issuers.
 */
export function readOperatorConfig(raw: unknown, allow: string): OperatorConfig | string {
  const config = typeof raw === "string" ? tryParseJson(raw) : raw;
  if (!isObject(config)) return "it must be a JSON object";
  const error = configErrorOf(config);
  if (error !== undefined) return error;
  const { issuer, clientId, claim, audience, scopes = SCOPES, roles } = config as unknown as RawOperatorConfig;
  const issuerError = issuerRule(issuer, allow);
  if (issuerError !== undefined) return `issuer: ${issuerError}`;
  return { issuer, clientId, claim, scopes, roles: new Map(Object.entries(roles)), ...omitUndefined({ audience }) };
}

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function configErrorOf(config: JsonObject): string | undefined {
  const unknownMember = Object.keys(config).find((name) => !MEMBERS.includes(name));
  if (unknownMember !== undefined) return `unknown field ${unknownMember}, expected ${MEMBERS.join(", ")}`;
  const { audience = "x", scopes = SCOPES, roles } = config;
  const invalidText = [...REQUIRED, "audience"].find((name) => !isText({ ...config, audience }[name]));
  if (invalidText !== undefined) return `${invalidText}: must be a text`;
  if (!Array.isArray(scopes) || !scopes.every(isText)) return "scopes: must be a list of texts";
  const entries = Object.entries(isObject(roles) ? roles : {});
  const broken = entries.length === 0 ? [""] : entries.find(([, role]) => !isRole(role));
  return broken && `roles.${broken[0]}: must be owner, operator, auditor, or a list of tenants`;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** `tenant-admin` has no meaning without tenants. */
function isRole(role: unknown): boolean {
  if (Array.isArray(role)) return role.length > 0 && role.every((id) => typeof id === "string" && isTenantId(id));
  return OPERATOR_ROLES.some((known) => known === role && known !== "tenant-admin");
}
