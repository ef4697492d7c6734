// A tenant's secrets in its object: sealed texts by name, which the object cannot unseal. Each write is one transaction
// with an audit entry that names the secret. It makes a new version of the policy, so that isolates fetch secrets
// again.

import type { Actor, WriteResult } from "./policy-records.ts";
import type { TenantHost } from "./tenant-host.ts";

export const MAX_SECRETS = 100;

export interface SecretRecord {
  readonly name: string;
  /** ISO 8601. */
  readonly updated: string;
}

export interface SecretMethods {
  secrets(): readonly SecretRecord[];
  /** `replaced`: there was a secret of this name. "full": the tenant has reached the limit of secrets. */
  setSecret(
    name: string,
    sealed: string,
    actor: Actor,
  ): (WriteResult & { readonly replaced: boolean }) | { readonly state: "full" };
  deleteSecret(name: string, actor: Actor): WriteResult;
}

interface SecretRow {
  [column: string]: SqlStorageValue;
  name: string;
  updated: string;
}

/** When a secret was last set, in milliseconds since the epoch; 0: there is none. */
export function secretsUpdatedAt(sql: SqlStorage): number {
  const { at } = sql.exec<{ at: string | null }>("SELECT max(updated) AS at FROM secrets").one();
  return at === null ? 0 : Date.parse(at);
}

const SAME_SECRET = "SELECT 1 FROM secrets WHERE name = ? AND sealed = ?";

export function createSecretMethods(host: TenantHost): SecretMethods {
  const { sql } = host;
  const all = () => sql.exec<SecretRow>("SELECT name, updated FROM secrets ORDER BY name").toArray();
  const find = (name: string) =>
    sql.exec<SecretRow>("SELECT name, updated FROM secrets WHERE name = ?", name).toArray()[0];
  const isDeleted = () => host.deletion.isClosed() || host.revision() === 0;
  const recordWrite = (): WriteResult => ({
    state: "written",
    revision: host.incrementRevision(),
    ...host.propagation(),
  });
  return {
    secrets: all,
    setSecret: (name, sealed, actor) =>
      host.transaction(() => {
        const before = find(name);
        if (isDeleted()) return { state: "absent", replaced: false };
        if (!before && all().length >= MAX_SECRETS) return { state: "full" };
        // A repetition, because the answer was lost: sealing the same value again never gives the same text.
        if (sql.exec(SAME_SECRET, name, sealed).toArray().length > 0) return { ...recordWrite(), replaced: true };
        const updated = new Date(host.now()).toISOString();
        sql.exec("INSERT OR REPLACE INTO secrets (name, sealed, updated) VALUES (?, ?, ?)", name, sealed, updated);
        host.record(actor, "secret.set", `secret ${name}`, { before, after: { name, updated } });
        return { ...recordWrite(), replaced: before !== undefined };
      }),
    deleteSecret: (name, actor) =>
      host.transaction(() => {
        const before = find(name);
        if (!before || isDeleted()) return { state: "absent" };
        sql.exec("DELETE FROM secrets WHERE name = ?", name);
        host.record(actor, "secret.delete", `secret ${name}`, { before, after: null });
        return recordWrite();
      }),
  };
}
