// Tables of pages, and that each row has words. The formatter lays them out.

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** A page by hand with other rows in the table that has this head. */
export function withRows(page: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const before = new RegExp(`^\\| ${head.join(" +\\| ")} +\\|\\n(?:\\|.*\\n)+`, "m");
  if (!before.test(page)) throw new Error(`no table with the head ${head.join(", ")}`);
  return page.replace(before, () => `${table(head, rows)}\n`);
}

/** With each of these names its words; throws where one has none, or words are of a name that there is not. */
export function wordsOf<T>(
  what: string,
  words: Readonly<Record<string, T>>,
  names: readonly string[],
): (readonly [name: string, words: T])[] {
  const known = new Map(Object.entries(words));
  const left = [...known.keys()].filter((name) => !names.includes(name));
  if (left.length > 0) throw new Error(`words of no ${what}: ${left.join(", ")}`);
  return names.map((name) => {
    const said = known.get(name);
    if (said === undefined) throw new Error(`${what} without words: ${name}`);
    return [name, said];
  });
}
