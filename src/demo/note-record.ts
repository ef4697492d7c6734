// How a note is named and shown: its id, URI and tags, and the summary that every notebook tool returns.
import type { Infer } from "../tenantry.ts";
import { firstSentence } from "./first-sentence.ts";

export const NOTE_PREFIX = "note://";

/** The longest slug that leaves room for "-" and eight random characters in an id of 64. */
const MAX_SLUG = 48;
const MAX_EXCERPT = 160;
const MAX_TAG_TEXT = 200;

const NOTE_ID = /^[a-z0-9-]{1,64}$/;

export const noteId = {
  type: "string",
  pattern: NOTE_ID.source,
  description: "Id of the note: 1 to 64 characters of a-z, 0-9 and -, without note:// in front.",
} as const;

/** The summary of a note that every tool returns. */
export const noteSummary = {
  type: "object",
  properties: {
    id: noteId,
    uri: { type: "string", description: "URI of the note as a resource." },
    title: { type: "string" },
    tags: { type: "array", items: { type: "string" } },
    lastModified: { type: "string", description: "When the note was last written, ISO 8601, UTC." },
  },
  required: ["id", "uri", "title", "tags", "lastModified"],
} as const;

export type NoteSummary = Infer<typeof noteSummary>;

/** The members that a stored resource needs to be shown as a note. */
export interface StoredNote {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly tags: readonly string[];
  readonly lastModified: string;
}

export function noteUri(id: string): string {
  return NOTE_PREFIX + id;
}

/** The id in a note's URI, or undefined if the URI is not a note's. */
export function parseNoteUri(uri: string): string | undefined {
  if (!uri.startsWith(NOTE_PREFIX)) return undefined;
  const id = uri.slice(NOTE_PREFIX.length);
  return NOTE_ID.test(id) ? id : undefined;
}

/** Titles repeat and lose letters in a slug, so the random suffix keeps two notes apart. */
export function createNoteId(title: string, random: string = crypto.randomUUID().slice(0, 8)): string {
  return `${slugOf(title) || "note"}-${random}`;
}

/** Lower-case ASCII words joined by "-". Empty if the title has no Latin letter or digit. */
export function slugOf(title: string): string {
  return title
    .normalize("NFKD")
    .replace(/\p{Mark}+/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_SLUG)
    .replace(/^-+|-+$/g, "");
}

/** One spelling per tag, so that "To Do" and "to-do" match. */
export function normalizeTags(tags: readonly string[]): string[] {
  return [...new Set(tags.map(normalizeTag))].filter((tag) => tag !== "");
}

/** Text longer than any tag is cut first, because a caller may send megabytes. */
export function normalizeTag(tag: string): string {
  return tag.slice(0, MAX_TAG_TEXT).trim().toLowerCase().replace(/\s+/g, "-");
}

export function summarizeNote(note: StoredNote): NoteSummary {
  const id = parseNoteUri(note.uri) ?? note.name;
  return { id, uri: note.uri, title: note.title ?? note.name, tags: [...note.tags], lastModified: note.lastModified };
}

/** The line shown under the title in lists and searches. */
export function excerptOf(text: string): string {
  return firstSentence(text, MAX_EXCERPT);
}
