// Owns whether a value can be written as JSON, as everything that is listed must be.

/** Throws a TypeError that names the member that JSON cannot say: a bigint, or one that contains itself. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    const path = culprit(value, []).join(".");
    const [why] = (error as Error).message.split("\n");
    throw new TypeError(`${path === "" ? "" : `${path}: `}cannot be written as JSON: ${why}`, { cause: error });
  }
}

/** The path to the innermost member that cannot be written. `above`: what it stands in, where a circle is closed. */
function culprit(value: unknown, above: readonly unknown[]): readonly string[] {
  const within = [...above, value];
  for (const [key, member] of typeof value === "object" && value !== null ? Object.entries(value) : []) {
    if (within.includes(member)) return [key];
    try {
      JSON.stringify(member);
    } catch {
      return [key, ...culprit(member, within)];
    }
  }
  return [];
}
