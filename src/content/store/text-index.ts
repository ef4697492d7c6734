// Owns how a resource gets into the full-text index: which of its words, and in which column.

/** Of a longer text, the beginning is indexed. */
export const MAX_SEARCH_CHARACTERS = 256 * 1024;

interface Worded {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly tags: readonly string[];
}

export function indexText(sql: SqlStorage, id: number, { name, title, description, tags }: Worded, text: string): void {
  sql.exec(
    "INSERT INTO resource_text (rowid, title, tags, body) VALUES (?, ?, ?, ?)",
    id,
    `${name} ${title ?? ""} ${description ?? ""}`,
    tags.join(" "),
    text,
  );
}
