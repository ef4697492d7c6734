// Owns what one 2025 session must remember. It comes into being with the first such thing, and its alarm ends it.
// Refuses protocol logic: it stores and returns values.

import { DurableObject } from "cloudflare:workers";
import type { LogLevel } from "../protocol/meta.ts";

export class SessionObject extends DurableObject {
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)");
  }

  async logLevel(): Promise<LogLevel | undefined> {
    const rows = this.ctx.storage.sql.exec<{ value: string }>("SELECT value FROM facts WHERE name = 'logLevel'");
    return rows.toArray()[0]?.value as LogLevel | undefined;
  }

  /** `expires`: when the session id ends, in milliseconds since the epoch. */
  async setLogLevel(level: LogLevel, expires: number): Promise<void> {
    this.ctx.storage.sql.exec(
      "INSERT INTO facts (name, value) VALUES ('logLevel', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      level,
    );
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(expires);
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}
