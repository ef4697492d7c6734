// The differences between a definition and its approved version, by member path.

import { canonicalJson } from "../../auth/seal.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import type { WaitingDefinition } from "./review-store.ts";

export interface FieldChange {
  /** Such as `inputSchema.properties.q.description`. */
  readonly field: string;
  /** Absent if the member is new. */
  readonly before?: unknown;
  /** Absent if the member was removed. */
  readonly after?: unknown;
}

/** Below this depth, or with more changes than MAX_MEMBERS, a member is shown whole. */
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
    const oldValue = Object.hasOwn(before, name) ? before[name] : undefined;
    const newValue = Object.hasOwn(after, name) ? after[name] : undefined;
    if (canonicalJson([oldValue]) === canonicalJson([newValue])) return [];
    const change: FieldChange = {
      field,
      ...(oldValue !== undefined && { before: oldValue }),
      ...(newValue !== undefined && { after: newValue }),
    };
    if (!isObject(oldValue) || !isObject(newValue) || depth === MAX_DEPTH) return [change];
    const inside = changesIn(field, oldValue, newValue, depth + 1);
    return inside.length > MAX_MEMBERS ? [change] : inside;
  });
}

/** The name under which the same definition was approved, if it is no longer listed under that name. */
export function findRenamedFrom({ text, unlisted }: Pick<WaitingDefinition, "text" | "unlisted">): string | undefined {
  const own = withoutName(text);
  return unlisted.find((one) => withoutName(one.text) === own)?.name;
}

function withoutName(text: string): string {
  const { name: _, ...rest } = JSON.parse(text) as JsonObject;
  return canonicalJson(rest);
}
