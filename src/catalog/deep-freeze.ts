// Freezes values that handlers of several calls share, so that no call can change them for another.

import { isObject } from "../protocol/jsonrpc.ts";

const frozenObjects = new WeakSet<object>();

/**
 * Returns the same value with all of its plain data frozen. Functions and class instances are not frozen: only their
 * author knows which of their parts may change.
 */
export function deepFreeze(value: unknown): unknown {
  const isPlain = Array.isArray(value) || (isObject(value) && Object.getPrototypeOf(value) === Object.prototype);
  if (!isPlain || frozenObjects.has(value)) return value;
  frozenObjects.add(value);
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
