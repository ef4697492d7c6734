// Owns what handlers of many calls are handed and none may change: a frozen copy of the plain data in a configuration.

/** Made once for each object, so once for each version of a policy. The author's own object is left as it is. */
const copies = new WeakMap<object, object>();

/** Functions and instances of classes are handed on as they are: only their author knows how they would be copied. */
export function frozenCopy(value: unknown): unknown {
  if (!isPlain(value)) return value;
  const known = copies.get(value);
  if (known) return known;
  const copy: object = Array.isArray(value) ? [] : {};
  // Before the members, which may contain the object again.
  copies.set(value, copy);
  for (const [key, member] of Object.entries(value)) {
    // Not an assignment, which for the name __proto__ is something else.
    Object.defineProperty(copy, key, { value: frozenCopy(member), enumerable: true });
  }
  return Object.freeze(copy);
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
