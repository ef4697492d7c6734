// The clients that a tenant's authorization server knows: registered ones, and documents as last read. When the table
// is full, the least recently used client without a grant is evicted.

import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import type { LoginClient } from "./login-records.ts";

const MAX_CLIENTS = 2000;

export interface StoredClient {
  readonly client: LoginClient;
  /** A document is fresh until then, in milliseconds since the epoch. */
  readonly freshUntil: number;
}

export interface ClientMethods {
  /** null: no client was registered or read under this id. */
  getClient(id: string): StoredClient | null;
  /** A page of clients by id, starting after `after`. */
  clients(after: string, most: number): readonly (LoginClient & { readonly usedAt: number })[];
  /** Returns false if there is no room, because every client has grants. */
  saveClient(stored: StoredClient): boolean;
}

export function createClientMethods(host: TenantHost): ClientMethods {
  const { sql } = host;
  return {
    getClient: (id) =>
      host.transaction(() => {
        const [row] = sql
          .exec<{ metadata: string; fresh_until: number; used_at: number }>(
            "SELECT metadata, fresh_until, used_at FROM login_clients WHERE id = ?",
            id,
          )
          .toArray();
        if (!row) return null;
        // Precise to the hour, so that not every request writes a row.
        if (row.used_at + 3_600_000 < host.now()) {
          sql.exec("UPDATE login_clients SET used_at = ? WHERE id = ?", host.now(), id);
        }
        return { client: JSON.parse(row.metadata) as LoginClient, freshUntil: row.fresh_until };
      }),
    clients: (after, most) =>
      sql
        .exec<{ metadata: string; used_at: number }>(
          "SELECT metadata, used_at FROM login_clients WHERE id > ? ORDER BY id LIMIT ?",
          after,
          most,
        )
        .toArray()
        .map((row) => ({ ...(JSON.parse(row.metadata) as LoginClient), usedAt: row.used_at })),
    saveClient: ({ client, freshUntil }) => host.transaction(() => saveClient(host, client, freshUntil)),
  };
}

function saveClient(host: TenantHost, client: LoginClient, freshUntil: number): boolean {
  const { sql } = host;
  const now = host.now();
  const { count } = sql
    .exec<{ count: number }>("SELECT count(*) AS count FROM login_clients WHERE id <> ?", client.id)
    .one();
  if (count >= MAX_CLIENTS) {
    const { rowsWritten } = sql.exec(
      `DELETE FROM login_clients WHERE id IN (SELECT id FROM login_clients c WHERE id <> ?
         AND NOT EXISTS (SELECT 1 FROM login_grants WHERE client = c.id) ORDER BY used_at LIMIT ?)`,
      client.id,
      count - MAX_CLIENTS + 1,
    );
    if (rowsWritten === 0) return false;
  }
  if (!host.hasCapacity()) return false;
  sql.exec(
    `INSERT INTO login_clients (id, metadata, fresh_until, used_at) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (id) DO UPDATE SET metadata = ?2, fresh_until = ?3, used_at = ?4`,
    client.id,
    JSON.stringify(client),
    freshUntil,
    now,
  );
  return true;
}
