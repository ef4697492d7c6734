// Owns what a tenant's authority tells people of, where a feature tells it on: each thing once for each time that it happens.

export const TENANT_EVENTS = [
  "quota.reached",
  "upstream.down",
  "upstream.up",
  "upstream.circuit",
  "definitions.held",
] as const;

export interface TenantEvent {
  readonly type: (typeof TENANT_EVENTS)[number];
  /** Of the same type and key nobody is told again, until it has not been said for a week. */
  readonly key: string;
  readonly data: Readonly<Record<string, string | number | null>>;
}
