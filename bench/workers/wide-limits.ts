// Limits that a measurement from one address does not meet. They are counted all the same, as in any deployment.
import type { Limits } from "../../src/tenants/document/tenant-document.ts";

const MANY = 10_000_000;

export const WIDE_LIMITS: Limits = {
  tenantMessages: MANY,
  principalMessages: MANY,
  toolCalls: MANY,
  addressMessages: MANY,
  addressToolCalls: MANY,
  streams: 20_000,
  sessions: 100_000,
  tenantSessions: 1_000_000,
  resources: 1_000_000,
};
