// Owns that what handlers of many calls are handed cannot be changed by one of them.

import { isObject } from "../protocol/jsonrpc.ts";

const frozenObjects = new WeakSet<object>();

/**
 * The same value, with all of its plain data frozen. Functions and instances of classes are left as they are: only their
 * author knows what may change in them.
 */
export function deepFreeze(value: unknown): unknown {
  const isPlain = Array.isArray(value) || (isObject(value) && Object.getPrototypeOf(value) === Object.prototype);
  if (!isPlain || frozenObjects.has(value)) return value;
  frozenObjects.add(value);
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
