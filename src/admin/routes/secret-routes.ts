// Owns the routes for a tenant's secrets: set, listed by name, deleted by the lease rule. Refuses to show a value, and
// to keep one that it cannot seal.

import { secretsRing } from "../../auth/secrets-key.ts";
import type { KeyRing } from "../../auth/seal.ts";
import { secretNameOf, workerSecretOf } from "../../tenants/document/secret-name.ts";
import { MAX_SECRETS } from "../../tenants/authority/secret-tables.ts";
import { sealSecret } from "../../tenants/isolate/tenant-secrets.ts";
import type { Infer } from "../contract.ts";
import { acknowledge } from "../apply/acknowledge.ts";
import { fromNow, isoTime, untilInForce } from "../apply/in-force.ts";
import { pageOfAll } from "../page.ts";
import { notFound, ProblemError } from "../problem.ts";
import { routes, type AdminEnv } from "../route.ts";
import { findManaged, readRecord } from "../apply/tenant-access.ts";
import type { SecretParams } from "../endpoints/tenant-endpoints.ts";
import { SECRET_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

export const secretRoutes = routes(SECRET_ENDPOINTS, {
  "GET /tenants/{id}/secrets": async (call) => {
    const { policy } = await findManaged(call, call.params.id);
    return { body: pageOfAll("secrets", await policy.secrets(), call.query) };
  },
  "PUT /tenants/{id}/secrets/{name}": async (call) => {
    const { id } = call.params;
    const name = nameIn(call.params);
    const managed = await findManaged(call, id);
    // Reading makes the row of a tenant in code, which exists without one until then.
    await readRecord(managed);
    const sealed = await sealSecret(await ringOf(call.env), id, name, call.body.value);
    const done = await managed.policy.setSecret(name, sealed, call.caller);
    if (done === "full") {
      throw new ProblemError("conflict", { detail: `The tenant ${id} has its ${MAX_SECRETS} secrets` });
    }
    if (done.state !== "written") throw notFound(`tenant ${id}`);
    const { revision } = done;
    const effectiveAt = fromNow(done.leftMs);
    const replaces = done.replaced || workerSecretOf(call.env, id, name) !== undefined;
    if (replaces || call.query.wait) await untilInForce(effectiveAt);
    return { body: { revision, changed: true, effectiveAt: isoTime(effectiveAt) } };
  },
  "DELETE /tenants/{id}/secrets/{name}": async (call) => {
    const { id } = call.params;
    const name = nameIn(call.params);
    const managed = await findManaged(call, id);
    await readRecord(managed);
    return acknowledge(managed, await managed.policy.deleteSecret(name, call.caller));
  },
});

/** As it is kept. What is no name was refused before. */
function nameIn({ name }: Infer<typeof SecretParams>): string {
  return secretNameOf(name) ?? name;
}

const MAKE_ONE =
  "32 random bytes in base64url, such as `openssl rand 32 | basenc --base64url | tr -d =` prints; " +
  "`npx wrangler secret put SECRETS_KEY` sets it, on your machine a line SECRETS_KEY=... in .dev.vars, and start wrangler dev again";

async function ringOf(env: AdminEnv): Promise<KeyRing> {
  const ring = await secretsRing(env);
  if (ring === "unset") {
    throw new ProblemError("conflict", { detail: `This Worker cannot seal secrets: set SECRETS_KEY, ${MAKE_ONE}` });
  }
  if (ring === "broken") {
    throw new ProblemError("conflict", { detail: `The Worker's SECRETS_KEY is not what it must be: ${MAKE_ONE}` });
  }
  return ring;
}
