// Events of a tenant that a feature can deliver, once for each time that they happen.

export const TENANT_EVENTS = [
  "quota.reached",
  "upstream.down",
  "upstream.up",
  "upstream.circuit",
  "definitions.held",
] as const;

export interface TenantEvent {
  readonly type: (typeof TENANT_EVENTS)[number];
  /** An event of the same type and key is not delivered again, until it was not reported for a week. */
  readonly deduplicationKey: string;
  readonly data: Readonly<Record<string, string | number | null>>;
}
