// Adds resources to the full-text index and removes them.

/** Only the beginning of a longer text is indexed. */
export const MAX_SEARCH_CHARACTERS = 256 * 1024;

interface SearchableFields {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly tags: readonly string[];
}

export const textMigrations: readonly string[] = [
  `CREATE VIRTUAL TABLE resource_words USING fts5(
     title, tags, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2')`,
];

export function indexText(
  sql: SqlStorage,
  id: number,
  { name, title, description, tags }: SearchableFields,
  text: string,
): void {
  sql.exec(
    "INSERT INTO resource_words (rowid, title, tags, body) VALUES (?, ?, ?, ?)",
    id,
    `${name} ${title ?? ""} ${description ?? ""}`,
    tags.join(" "),
    text,
  );
}

export function unindexText(sql: SqlStorage, id: number): void {
  sql.exec("DELETE FROM resource_words WHERE rowid = ?", id);
}
