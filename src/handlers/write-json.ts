/**
 * Returns the value as JSON. Throws a TypeError that names the member which JSON cannot express: a bigint, or a
 * circular value, of which the outermost is named. `path`: the value's position.
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
