// Daily limits use UTC days.

const DAY_MS = 86_400_000;

export function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}

export function endOfDay(day: string): number {
  return Date.parse(day) + DAY_MS;
}

export function untilTomorrowMs(now: number): number {
  return DAY_MS - (now % DAY_MS);
}
