// Owns the admin half of the lease rule: a withdrawal is acknowledged when no isolate serves what was before.

/** Waits until `effectiveAt`, in milliseconds since the epoch: then every lease from before it has ended. */
export async function untilInForce(effectiveAt: number): Promise<void> {
  const left = effectiveAt - Date.now();
  if (left > 0) await scheduler.wait(left);
}

/** ISO 8601. null stays null: there is no such time. */
export function isoTime(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}
