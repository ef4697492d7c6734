// A tenant's queue of webhook events. It is bounded, and retries with growing pauses until each of the tenant's
// webhooks has the event, or the event is dropped. An entrypoint determines the webhooks and sends the requests.

import type { WebhookQueue } from "../deployment/deployment.ts";
import { hasFeature } from "../deployment/registry.ts";
import { logError } from "../telemetry/error-line.ts";
import type { TenantUid } from "../tenants/object/tenant-uid.ts";
import type { TenantHost } from "../tenants/object/tenant-host.ts";
import type { Store } from "../tenants/object/store.ts";
import type { TenantEvent } from "../tenants/object/tenant-events.ts";
import { withTimeout } from "../tenants/cache/with-timeout.ts";
import { deliverWebhooks, DELIVERIES, type WebhookResult } from "./deliver-webhooks-entrypoint.ts";

export interface WebhookMethods {
  enqueue(event: TenantEvent): void;
  queue(): WebhookQueue;
}

/** The pause before each next attempt, in milliseconds. After the last one the event is dropped. */
export const PAUSES_MS = [5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000] as const;
export const MAX_QUEUED = 200;
const MAX_SENT_KEYS = 1_000;
const DAY_MS = 86_400_000;
const DEDUPLICATE_MS = 7 * DAY_MS;
const SEND_BATCH = 10;
/** Shorter than the pause after which an event without a result is sent again. */
const DELIVERY_TIMEOUT_MS = 25_000;
const ALARM_WAIT_MS = 1_000;

interface QueuedEvent {
  [column: string]: SqlStorageValue;
  id: string;
  type: string;
  data: string;
  at: number;
  attempts: number;
  due_at: number;
  /** JSON of the webhooks that received the event. */
  delivered_to: string;
}

export const webhookStore: Store<WebhookMethods, TenantHost> = {
  name: "webhooks",
  // A repeated event is not sent again.
  methods: { enqueue: { idempotent: true }, queue: { idempotent: true } },
  migrations: [
    `CREATE TABLE webhook_queue (id TEXT PRIMARY KEY, type TEXT NOT NULL, data TEXT NOT NULL, at INTEGER NOT NULL,
       attempts INTEGER NOT NULL, due_at INTEGER NOT NULL, delivered_to TEXT NOT NULL) WITHOUT ROWID`,
    "CREATE TABLE webhook_sent_keys (key TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE webhook_dropped (one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL)",
    "INSERT INTO webhook_dropped (one, count) VALUES (1, 0)",
  ],
  open: (host) => {
    // A Worker without the feature queues nothing.
    const enqueue = (event: TenantEvent) => {
      if (hasFeature("webhooks")) enqueueEvent(host, event);
    };
    host.emitEvent = enqueue;
    return {
      methods: {
        enqueue: (event) => host.transaction(() => enqueue(event)),
        queue: () => ({
          waiting: host.sql.exec<{ n: number }>("SELECT count(*) AS n FROM webhook_queue").one().n,
          dropped: host.sql.exec<{ count: number }>("SELECT count FROM webhook_dropped").one().count,
        }),
      },
      alarm: (now) => sendDue(host, now),
    };
  },
};

function enqueueEvent(host: TenantHost, { type, deduplicationKey, data }: TenantEvent): void {
  const { sql } = host;
  const now = host.now();
  const sentKey = `${type} ${deduplicationKey}`;
  // Ignores an entry from a clock that was ahead.
  const query = "SELECT at FROM webhook_sent_keys WHERE key = ? AND at < ?";
  const [known] = sql.exec<{ at: number }>(query, sentKey, now + DAY_MS).toArray();
  // An event that repeats stays known. Its row is written once a day.
  if (known && known.at > now - DAY_MS) return;
  sql.exec("INSERT OR REPLACE INTO webhook_sent_keys (key, at) VALUES (?, ?)", sentKey, now);
  if (known && known.at > now - DEDUPLICATE_MS) return;
  const id = `msg_${crypto.randomUUID()}`;
  const insert =
    "INSERT INTO webhook_queue (id, type, data, at, attempts, due_at, delivered_to) VALUES (?, ?, ?, ?, 0, ?, '[]')";
  sql.exec(insert, id, type, JSON.stringify({ tenant: host.tenant, ...data }), now, now);
  enforceBounds(host, now);
  host.scheduleAlarm(now);
}

/** Deletes the oldest events of the most frequent type. So a flood of one type does not displace the others. */
function enforceBounds({ sql }: TenantHost, now: number): void {
  const { n } = sql.exec<{ n: number }>("SELECT count(*) AS n FROM webhook_queue").one();
  if (n > MAX_QUEUED) {
    const type = "SELECT type FROM webhook_queue GROUP BY type ORDER BY count(*) DESC LIMIT 1";
    const oldest = `SELECT id FROM webhook_queue WHERE type = (${type}) ORDER BY at LIMIT ?`;
    sql.exec(`DELETE FROM webhook_queue WHERE id IN (${oldest})`, n - MAX_QUEUED);
    sql.exec("UPDATE webhook_dropped SET count = count + ?", n - MAX_QUEUED);
  }
  sql.exec("DELETE FROM webhook_sent_keys WHERE at < ?", now - DEDUPLICATE_MS);
  const sentKeys = sql.exec<{ n: number }>("SELECT count(*) AS n FROM webhook_sent_keys").one().n;
  if (sentKeys <= MAX_SENT_KEYS) return;
  const typeOf = "substr(key, 1, instr(key, ' '))";
  const type = `SELECT ${typeOf} FROM webhook_sent_keys GROUP BY 1 ORDER BY count(*) DESC LIMIT 1`;
  const oldest = `SELECT key FROM webhook_sent_keys WHERE ${typeOf} = (${type}) ORDER BY at LIMIT ?`;
  sql.exec(`DELETE FROM webhook_sent_keys WHERE key IN (${oldest})`, sentKeys - MAX_SENT_KEYS);
}

async function sendDue(host: TenantHost, now: number): Promise<number | undefined> {
  const { sql } = host;
  const query = "SELECT * FROM webhook_queue WHERE due_at <= ? ORDER BY due_at LIMIT ?";
  const due = sql.exec<QueuedEvent>(query, now, SEND_BATCH).toArray();
  const created = host.created();
  // The tenant is being deleted. No more events are sent, and the queue is deleted with it.
  if (created === undefined) return undefined;
  if (due.length > 0) {
    // If this instance ends meanwhile, the next one tries again.
    for (const row of due) sql.exec("UPDATE webhook_queue SET due_at = ? WHERE id = ?", now + PAUSES_MS[1], row.id);
    // A slow webhook is not waited for: no other alarm fires until this one ends.
    await Promise.race([sendEvents(host, created, due), scheduler.wait(ALARM_WAIT_MS)]);
  }
  return nextDue(sql);
}

/** Never rejects. */
async function sendEvents(host: TenantHost, created: TenantUid, due: readonly QueuedEvent[]): Promise<void> {
  const { tenant } = host;
  const events = due.map(({ id, type, at, data, delivered_to }) => ({
    id,
    type,
    at,
    data: JSON.parse(data) as unknown,
    deliveredTo: JSON.parse(delivered_to) as string[],
  }));
  const failed = (error: unknown) => logError(error, { tenant, method: "alarm webhooks" });
  try {
    const delivering = withTimeout(deliverWebhooks({ tenant, uid: created, events }), DELIVERY_TIMEOUT_MS, DELIVERIES);
    const outcomes = await delivering.catch(failed);
    host.transaction(() => {
      // The tenant may have been deleted meanwhile, and another one of its name created.
      if (host.deletion.isClosed() || host.created() !== created) return;
      for (const row of due) recordResult(host, row, outcomes?.find(({ id }) => id === row.id)?.hooks);
      const next = nextDue(host.sql);
      if (next !== undefined) host.scheduleAlarm(next);
    });
  } catch (error) {
    failed(error);
  }
}

function nextDue(sql: SqlStorage): number | undefined {
  return sql.exec<{ at: number | null }>("SELECT min(due_at) AS at FROM webhook_queue").one().at ?? undefined;
}

/** `results`: absent if the webhooks could not be determined. */
function recordResult(host: TenantHost, row: QueuedEvent, results: readonly WebhookResult[] | undefined): void {
  const { sql } = host;
  const failed = results?.filter(({ why }) => why !== null);
  if (failed?.length === 0) {
    sql.exec("DELETE FROM webhook_queue WHERE id = ?", row.id);
    return;
  }
  const pause = PAUSES_MS[row.attempts];
  if (pause !== undefined) {
    const deliveredTo = [
      ...(JSON.parse(row.delivered_to) as string[]),
      ...(results ?? []).filter(({ why }) => why === null).map(({ name }) => name),
    ];
    const update = "UPDATE webhook_queue SET attempts = attempts + 1, due_at = ?, delivered_to = ? WHERE id = ?";
    sql.exec(update, host.now() + pause, JSON.stringify(deliveredTo), row.id);
    return;
  }
  sql.exec("DELETE FROM webhook_queue WHERE id = ?", row.id);
  sql.exec("UPDATE webhook_dropped SET count = count + 1");
  for (const { name, why } of failed ?? [{ name: "all", why: "the tenant could not be reached" }]) {
    host.record({ name: "webhooks" }, "webhook.drop", `webhook ${name}`, {
      before: null,
      after: { id: row.id, type: row.type, why },
    });
  }
}
