// Parsers of option values: durations (`90s`, `30d`), dates, counts, priorities, key ids.

import { InvalidArgumentError } from "commander";
import { usageError } from "../exit.ts";

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

export function parseSeconds(text: string): number {
  const match = /^(\d{1,6})([smhdw])$/.exec(text);
  if (!match) throw new InvalidArgumentError("a number and s, m, h, d or w, such as 90s, 12h or 30d.");
  return Number(match[1]) * SECONDS[match[2] as keyof typeof SECONDS];
}

/** ISO 8601 in UTC. A duration counts from now. */
export function parseMoment(text: string): string {
  if (/^\d+[smhdw]$/.test(text)) return new Date(Date.now() + parseSeconds(text) * 1000).toISOString();
  const moment = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(text) ? new Date(text) : undefined;
  if (!moment || Number.isNaN(moment.getTime())) {
    throw new InvalidArgumentError("30d, 2027-01-31 or 2027-01-31T12:00:00Z.");
  }
  return moment.toISOString();
}

/** ISO 8601 in UTC. A duration counts back from now. */
export function parsePast(text: string): string {
  const isDuration = /^\d+[smhdw]$/.test(text);
  return isDuration ? new Date(Date.now() - parseSeconds(text) * 1000).toISOString() : parseMoment(text);
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("a whole number from 1 up.");
  return Number(text);
}

/** A whole number from 0 to `max`. */
export const parseUpTo = (max: number) => (text: string) => {
  const times = /^\d{1,9}$/.test(text) ? Number(text) : Infinity;
  if (times > max) throw new InvalidArgumentError(`a whole number from 0 to ${max}.`);
  return times;
};

export function parsePriority(text: string): number {
  const priority = Number(text);
  if (text.trim() === "" || !(priority >= 0 && priority <= 1)) throw new InvalidArgumentError("a number from 0 to 1.");
  return priority;
}

/** The id in a full key; undefined: the text is not a key. */
export const keyIdIn = (text: string) => /^(?:key )?tn[a-z]_([0-9A-Za-z]{10})_/.exec(text.trim())?.[1];

/** Rejects a full key with a warning that does not repeat it. The server validates everything else. */
export function parseKeyId(text: string): string {
  const id = keyIdIn(text);
  if (id === undefined) return text;
  const rotate = `It is now in your shell's history, so replace it: tenantry key rotate TENANT ${id}`;
  throw usageError(`this is a key, not its id, which is ${id}. ${rotate}`);
}

export const PRINCIPAL_HELP = `this caller: a key's id, "oauth ISSUER SUBJECT", "app ID" or "worker NAME"`;

/** A principal as the server writes it. A bare key id stands for the key's principal. */
export function parsePrincipal(text: string): string {
  const id = parseKeyId(text);
  return /^[0-9A-Za-z]{10}$/.test(id) ? `key ${id}` : id;
}
