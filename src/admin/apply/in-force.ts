// Owns the admin half of the lease rule: a withdrawal is acknowledged when no isolate serves what was before.

export async function untilInForce(effectiveAt: number): Promise<void> {
  const left = effectiveAt - Date.now();
  if (left > 0) await scheduler.wait(left);
}

/** null: nothing changed that could still be served. */
export function isoTime(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}
