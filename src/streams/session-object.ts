// Owns what one 2025 session must remember. It comes into being with the first such thing, and its alarm ends it.
// Refuses protocol logic: it stores and returns values.

import { DurableObject } from "cloudflare:workers";
import type { LogLevel } from "../protocol/meta.ts";

export class SessionObject extends DurableObject {
  /** Leaves nothing behind: a table made here would be stored for ever, because nothing sets an alarm. */
  async logLevel(): Promise<LogLevel | undefined> {
    return this.ctx.storage.kv.get<LogLevel>("logLevel");
  }

  /** `expires`: when the session id ends, in milliseconds since the epoch. */
  async setLogLevel(level: LogLevel, expires: number): Promise<void> {
    this.ctx.storage.kv.put("logLevel", level);
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(expires);
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}
