// Routes for a tenant's secrets: set, list by name, delete. No route returns a value, and a value is stored only
// encrypted. A deletion is in effect once the leases have expired.

import { getSecretsRing } from "../../auth/secrets-key.ts";
import type { KeyRing } from "../../auth/seal.ts";
import { secretNameOf, workerSecretOf } from "../../tenants/document/secret-name.ts";
import { MAX_SECRETS } from "../../tenants/object/secret-methods.ts";
import { sealSecret } from "../../tenants/cache/tenant-secrets.ts";
import type { Infer } from "../contract.ts";
import { confirmWithdrawal, deadlineFrom, isoTime, waitForLeases } from "../services/propagation.ts";
import { paginateArray } from "../page.ts";
import { notFound, ProblemError } from "../problem.ts";
import { defineRoutes, type AdminEnv } from "../route.ts";
import { requireTenant, requireTenantRecord } from "../services/tenant-handle.ts";
import type { SecretParams } from "../endpoints/tenant-endpoints.ts";
import { SECRET_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

export const secretRoutes = defineRoutes(SECRET_ENDPOINTS, {
  "GET /tenants/{id}/secrets": async (context) => {
    const { policy } = await requireTenant(context, context.params.id);
    return { body: paginateArray("secrets", await policy.secrets(), context.query) };
  },
  "PUT /tenants/{id}/secrets/{name}": async (context) => {
    const { id } = context.params;
    const name = secretNameParam(context.params);
    const handle = await requireTenant(context, id);
    // Reading creates the row of a tenant in code, which has none before.
    await requireTenantRecord(handle);
    const sealed = await sealSecret(await requireSecretsRing(context.env), id, name, context.body.value);
    const result = await handle.policy.setSecret(name, sealed, context.caller);
    if (result.state === "full") {
      throw new ProblemError("conflict", {
        detail: `The tenant ${id} already has ${MAX_SECRETS} secrets, the maximum`,
      });
    }
    if (result.state !== "written") throw notFound(`tenant ${id}`);
    const { revision } = result;
    const effectiveAt = deadlineFrom(result.leftMs);
    const replaces = result.replaced || workerSecretOf(context.env, id, name) !== undefined;
    if (replaces || context.query.wait) await waitForLeases(effectiveAt);
    return { body: { revision, changed: true, effectiveAt: isoTime(effectiveAt) } };
  },
  "DELETE /tenants/{id}/secrets/{name}": async (context) => {
    const { id } = context.params;
    const name = secretNameParam(context.params);
    const handle = await requireTenant(context, id);
    await requireTenantRecord(handle);
    return confirmWithdrawal(handle, await handle.policy.deleteSecret(name, context.caller));
  },
});

/** The normal form of the name. Validation has rejected invalid names before. */
function secretNameParam({ name }: Infer<typeof SecretParams>): string {
  return secretNameOf(name) ?? name;
}

const CREATE_KEY_HINT =
  "32 random bytes in base64url, such as from `openssl rand 32 | basenc --base64url | tr -d =`: " +
  "`npx wrangler secret put SECRETS_KEY`, or on your machine write SECRETS_KEY=... into .dev.vars and start wrangler dev again";

async function requireSecretsRing(env: AdminEnv): Promise<KeyRing> {
  const ring = await getSecretsRing(env);
  if (ring === "unset") {
    throw new ProblemError("conflict", {
      detail: `This Worker cannot seal secrets. Set SECRETS_KEY to ${CREATE_KEY_HINT}`,
    });
  }
  if (ring === "broken") {
    throw new ProblemError("conflict", {
      detail: `The Worker's SECRETS_KEY is invalid. It must be ${CREATE_KEY_HINT}`,
    });
  }
  return ring;
}
