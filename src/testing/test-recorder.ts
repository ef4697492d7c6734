// Owns the record of one case: what a handler did, and in which round of its call. Refuses to judge what was done twice.

import type { Announcement } from "../handlers/publish-changes.ts";
import type { AskedQuestion, Effect, KeptLink } from "./test-run.ts";

/** What was done, while it is done. */
export class TestRecorder {
  round = 1;
  readonly effects: Effect[] = [];
  readonly links: KeptLink[] = [];
  readonly questions: AskedQuestion[] = [];
  readonly announcements: Announcement[] = [];
  readonly errors: unknown[] = [];
  readonly pending: Promise<unknown>[] = [];

  addEffect(what: string): void {
    this.effects.push({ what, round: this.round });
  }
}
