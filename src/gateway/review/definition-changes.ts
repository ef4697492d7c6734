// Owns in what a definition differs from the one that was approved: member by member, by its path. Pure.

import { canonicalJson } from "../../auth/seal.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import type { WaitingDefinition } from "./review-tables.ts";

export interface FieldChange {
  /** Such as `inputSchema.properties.q.description`. */
  readonly field: string;
  /** Absent: there was nothing. */
  readonly before?: unknown;
  /** Absent: there is nothing any more. */
  readonly after?: unknown;
}

/** Deeper than this, and where more differs, a member is shown whole. */
const MAX_DEPTH = 12;
const MAX_MEMBERS = 200;

export function changesOf({ text, approved }: Pick<WaitingDefinition, "text" | "approved">): readonly FieldChange[] {
  const after = JSON.parse(text) as JsonObject;
  return changesIn("", approved ? (JSON.parse(approved.text) as JsonObject) : {}, after, 0);
}

function changesIn(path: string, before: JsonObject, after: JsonObject, depth: number): FieldChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Array.from(names).flatMap((name) => {
    const field = path === "" ? name : `${path}.${name}`;
    const was = Object.hasOwn(before, name) ? before[name] : undefined;
    const is = Object.hasOwn(after, name) ? after[name] : undefined;
    if (canonicalJson([was]) === canonicalJson([is])) return [];
    const whole: FieldChange = {
      field,
      ...(was !== undefined && { before: was }),
      ...(is !== undefined && { after: is }),
    };
    if (!isObject(was) || !isObject(is) || depth === MAX_DEPTH) return [whole];
    const inside = changesIn(field, was, is, depth + 1);
    return inside.length > MAX_MEMBERS ? [whole] : inside;
  });
}

/** The name under which the same was approved, if nothing has that name any more. */
export function renamedFrom({ text, left }: Pick<WaitingDefinition, "text" | "left">): string | undefined {
  const own = nameless(text);
  return left.find((one) => nameless(one.text) === own)?.name;
}

function nameless(text: string): string {
  const { name: _, ...rest } = JSON.parse(text) as JsonObject;
  return canonicalJson(rest);
}
