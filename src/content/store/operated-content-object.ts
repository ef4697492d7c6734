// Owns the Durable Object of a tenant's content where tenants have operators, in the place of the one that every Worker has: their
// edits, and the entries of these on their way to the audit log.

import type { Keeper } from "../../tenants/authority/incarnation.ts";
import { createContentObject } from "./content-object.ts";
import { AuditIsFull } from "./edit.ts";
import { editOutbox } from "./edit-outbox.ts";
import { operatedContent } from "./operated-content.ts";

export class OperatedContentObject extends createContentObject([operatedContent, editOutbox]) {
  override async run(...call: Parameters<Keeper["run"]>): ReturnType<Keeper["run"]> {
    try {
      return await super.run(...call);
    } catch (error) {
      if (error instanceof AuditIsFull) return { busy: true };
      throw error;
    }
  }
}
