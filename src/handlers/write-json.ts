// Owns whether a value can be written as JSON, as everything that is listed must be.

/**
 * Throws a TypeError that names the member that JSON cannot say: a bigint, or one that contains itself, of which the
 * outermost is named. `path`: where the value stands.
 */
export function writeJson(value: unknown, path: readonly string[] = []): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    const [reason = ""] = (error as Error).message.split("\n");
    if (path.length === 0 || !reason.includes("circular")) {
      for (const [key, member] of Object.entries(Object(value) as object)) writeJson(member, [...path, key]);
    }
    throw new TypeError([path.join("."), `cannot be written as JSON: ${reason}`].filter(Boolean).join(": "), {
      cause: error,
    });
  }
}
