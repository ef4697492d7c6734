// The platform's operators and audit log, in the platform object. Only a hash of each token is stored.

import { auditMigrations, auditPage, pruneAudit, recordAudit } from "../../tenants/object/audit-log.ts";
import type { OperatorRole } from "../../deployment/operator-sign-in.ts";
import type { Actor, AuditEntry } from "../../tenants/object/policy-records.ts";
import type { TenantUid } from "../../tenants/object/tenant-uid.ts";
import type { StoreHost, Store } from "../../tenants/object/store.ts";

export interface OperatorRecord {
  readonly name: string;
  readonly role: OperatorRole;
  /** Only for a tenant-admin. */
  readonly tenants: readonly string[] | null;
  /** ISO 8601. */
  readonly created: string;
  readonly expires: string | null;
}

export interface OperatorMethods {
  operators(): readonly OperatorRecord[];
  operatorByHash(hash: string): OperatorRecord | null;
  /** null: the name is taken. */
  addOperator(operator: Omit<OperatorRecord, "created">, hash: string, actor: Actor): OperatorRecord | null;
  /** false: no such operator. */
  removeOperator(name: string, actor: Actor): boolean;
  /**
   * Removes a deleted tenant from its tenant-admins, so that a later tenant of the same name is not theirs. A
   * repeated call changes nothing: an operator may have assigned that later tenant by then.
   */
  removeTenant(tenant: { readonly id: string; readonly created: TenantUid }): void;
  record(actor: Actor, action: string, target: string, change: { before: unknown; after: unknown }): void;
  audit(page: { before: number | null; limit: number }): readonly AuditEntry[];
}

/** Longer than any request that deletes a tenant can last. */
const DELETED_TENANT_TTL_MS = 86_400_000;

interface OperatorRow {
  [column: string]: SqlStorageValue;
  name: string;
  role: string;
  tenants: string | null;
  hash: string;
  created: string;
  expires: string | null;
}

export const operatorStore: Store<OperatorMethods> = {
  name: "operators",
  methods: {
    operators: { idempotent: true },
    operatorByHash: { idempotent: true },
    addOperator: {},
    removeOperator: { idempotent: true },
    removeTenant: { idempotent: true },
    // A repeated call may write a second entry for a tenant's deletion, which is better than none.
    record: { idempotent: true },
    audit: { idempotent: true },
  },
  migrations: [
    `CREATE TABLE operators (name TEXT PRIMARY KEY, role TEXT NOT NULL, tenants TEXT, hash TEXT NOT NULL UNIQUE,
       created TEXT NOT NULL, expires TEXT) WITHOUT ROWID`,
    `CREATE TABLE audit (sequence INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, actor TEXT NOT NULL,
       action TEXT NOT NULL, target TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL)`,
    `CREATE TABLE deleted_tenants (tenant TEXT NOT NULL, created TEXT NOT NULL, deleted_at INTEGER NOT NULL,
       PRIMARY KEY (tenant, created)) WITHOUT ROWID`,
    ...auditMigrations,
  ],
  open: (host) => ({ methods: createOperatorMethods(host), alarm: async () => pruneAudit(host) }),
};

function fromRow({ name, role, tenants, created, expires }: OperatorRow): OperatorRecord {
  return {
    name,
    role: role as OperatorRole,
    tenants: tenants === null ? null : (JSON.parse(tenants) as string[]),
    created,
    expires,
  };
}

function createOperatorMethods(host: StoreHost): OperatorMethods {
  const { sql } = host;
  const all = () => sql.exec<OperatorRow>("SELECT * FROM operators ORDER BY name").toArray().map(fromRow);
  const find = (name: string) => all().find((operator) => operator.name === name);
  return {
    operators: all,
    operatorByHash: (hash) => {
      const [row] = sql.exec<OperatorRow>("SELECT * FROM operators WHERE hash = ?", hash).toArray();
      return row ? fromRow(row) : null;
    },
    addOperator: (operator, hash, actor) =>
      host.transaction(() => {
        if (find(operator.name)) return null;
        const { name, role, tenants, expires } = operator;
        const added: OperatorRecord = { name, role, tenants, created: new Date(host.now()).toISOString(), expires };
        sql.exec(
          "INSERT INTO operators (name, role, tenants, hash, created, expires) VALUES (?, ?, ?, ?, ?, ?)",
          name,
          role,
          tenants === null ? null : JSON.stringify(tenants),
          hash,
          added.created,
          expires,
        );
        recordAudit(host, actor, ["operator.create", `operator ${name}`], { before: null, after: added });
        return added;
      }),
    removeOperator: (name, actor) =>
      host.transaction(() => {
        const before = find(name);
        if (!before) return false;
        sql.exec("DELETE FROM operators WHERE name = ?", name);
        recordAudit(host, actor, ["operator.delete", `operator ${name}`], { before, after: null });
        return true;
      }),
    removeTenant: (tenant) => {
      host.transaction(() => {
        sql.exec("DELETE FROM deleted_tenants WHERE deleted_at < ?", host.now() - DELETED_TENANT_TTL_MS);
        const inserted = sql.exec(
          "INSERT OR IGNORE INTO deleted_tenants (tenant, created, deleted_at) VALUES (?, ?, ?) RETURNING 1",
          tenant.id,
          tenant.created,
          host.now(),
        );
        if (inserted.toArray().length === 0) return;
        for (const { name, tenants } of all()) {
          if (!tenants?.includes(tenant.id)) continue;
          const remaining = JSON.stringify(tenants.filter((id) => id !== tenant.id));
          sql.exec("UPDATE operators SET tenants = ? WHERE name = ?", remaining, name);
        }
      });
    },
    record: (actor, action, target, change) => {
      recordAudit(host, actor, [action, target], change);
    },
    audit: ({ before, limit }) => auditPage(sql, before, limit),
  };
}
