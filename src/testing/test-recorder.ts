import type { Announcement } from "../handlers/publish-changes.ts";
import type { TestQuestion, TestEffect, TestLink } from "./test-run.ts";

/** Records a handler's effects during one run, with the round in which each happened. */
export class TestRecorder {
  round = 1;
  readonly effects: TestEffect[] = [];
  readonly links: TestLink[] = [];
  readonly questions: TestQuestion[] = [];
  readonly announcements: Announcement[] = [];
  readonly errors: unknown[] = [];
  readonly pending: Promise<unknown>[] = [];

  addEffect(what: string): void {
    this.effects.push({ what, round: this.round });
  }
}
