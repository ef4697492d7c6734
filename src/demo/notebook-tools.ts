// The five tools of the shared notebook. Notes are stored only as resources under note://. Every answer repeats ids and
// titles in its text, because some clients show their model only the text. Schemas are plain JSON Schema, from which
// handlers infer their argument types; examples/own-tools has tools in zod.
import { defineTool } from "../tenantry.ts";
import type { Context, Infer } from "../tenantry.ts";
import {
  NOTE_PREFIX,
  createNoteId,
  excerptOf,
  normalizeTag,
  normalizeTags,
  noteId,
  noteSummary,
  noteUri,
  summarizeNote,
} from "./note-record.ts";
import type { StoredNote } from "./note-record.ts";

const tag = { type: "string", minLength: 1, maxLength: 40 } as const;
const listedNote = {
  type: "object",
  properties: {
    ...noteSummary.properties,
    excerpt: { type: "string", description: "First sentence of the note." },
  },
  required: [...noteSummary.required, "excerpt"],
} as const;
type ListedNote = Infer<typeof listedNote>;

/** The member with a lone surrogate, which UTF-8 cannot store. */
function malformedMember({ title, text, tags = [] }: { title: string; text: string; tags?: readonly string[] }) {
  const [broken] = Object.entries({ title, text, tags: tags.join(" ") }).find(([, some]) => !some.isWellFormed()) ?? [];
  return broken;
}

const noteWrite = defineTool({
  name: "note_write",
  title: "Write a note",
  description:
    "Saves a Markdown note in the shared notebook. Without id it creates a new note and answers with the id it got. " +
    "With id it replaces title and text of that note, or creates it under that id; tags stay as they were when omitted. " +
    "Read a note before replacing it: the new text takes the place of the whole old text.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: {
    type: "object",
    properties: {
      title: { type: "string", minLength: 1, maxLength: 200, description: "Title in one line." },
      text: { type: "string", minLength: 1, maxLength: 500_000, description: "The whole note, Markdown." },
      tags: {
        type: "array",
        items: tag,
        maxItems: 20,
        description: 'Tags to find it by, such as "meeting". Stored in lower case.',
      },
      id: { ...noteId, description: "Id of the note to replace. Omit for a new note." },
    },
    required: ["title", "text"],
  },
  output: noteSummary,
  handler: async (args, ctx) => {
    const malformed = malformedMember(args);
    if (malformed !== undefined) {
      return {
        isError: true,
        content: `${malformed}: contains half of a surrogate pair, which is not valid text. Nothing was saved.`,
      };
    }
    const id = args.id ?? createNoteId(args.title);
    const existing =
      args.id !== undefined && args.tags === undefined ? await ctx.resources.get(noteUri(id)) : undefined;
    const written = await ctx.resources.write({
      uri: noteUri(id),
      name: id,
      title: args.title,
      description: excerptOf(args.text),
      mimeType: "text/markdown",
      tags: args.tags === undefined ? (existing?.tags ?? []) : normalizeTags(args.tags),
      text: args.text,
    });
    const note = summarizeNote(written);
    const link = {
      type: "resource_link" as const,
      uri: note.uri,
      name: id,
      title: note.title,
      mimeType: "text/markdown",
    };
    const saved = { type: "text" as const, text: `Saved the note "${note.title}" with id ${note.id}.` };
    return { content: [saved, link], structuredContent: note };
  },
});

const noteRead = defineTool({
  name: "note_read",
  title: "Read a note",
  description: "Returns the full text of one note by its id. Use note_search or note_list to find ids.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: { type: "object", properties: { id: noteId }, required: ["id"] },
  output: {
    type: "object",
    properties: { ...noteSummary.properties, text: { type: "string", description: "The whole note, Markdown." } },
    required: [...noteSummary.required, "text"],
  },
  handler: async ({ id }, ctx) => {
    const note = await ctx.resources.read(noteUri(id));
    if (note?.text === undefined) return noSuchNote(id);
    const summary = summarizeNote(note);
    return { content: `# ${summary.title}\n\n${note.text}`, structuredContent: { ...summary, text: note.text } };
  },
});

const noteSearch = defineTool({
  name: "note_search",
  title: "Search notes",
  description:
    "Full-text search over titles, tags and texts of the notes, best match first. Returns ids and first sentences, " +
    "not whole notes; read those with note_read. A few distinctive words work better than a sentence.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: {
    type: "object",
    properties: {
      query: { type: "string", minLength: 1, maxLength: 400, description: "Words to look for." },
      limit: { type: "integer", minimum: 1, maximum: 50, default: 10, description: "How many matches at most." },
    },
    required: ["query"],
  },
  output: {
    type: "object",
    properties: {
      results: {
        type: "array",
        items: {
          type: "object",
          properties: { ...listedNote.properties, score: { type: "number", description: "Higher is better." } },
          required: [...listedNote.required, "score"],
        },
      },
    },
    required: ["results"],
  },
  handler: async ({ query, limit }, ctx) => {
    const found = await ctx.resources.search(query, { limit, prefix: NOTE_PREFIX });
    const results = found.map((match) => ({ ...listNote(match), score: match.score }));
    return { content: describeNotes(results, `No note matches "${query}".`), structuredContent: { results } };
  },
});

const noteList = defineTool({
  name: "note_list",
  title: "List notes",
  description:
    "Lists the notes, all of them or those with one tag, a page at a time. When the answer has nextCursor, " +
    "call again with it as cursor for the next page.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: {
    type: "object",
    properties: {
      tag: { ...tag, description: "Only notes with this tag." },
      cursor: { type: "string", description: "nextCursor of the page before." },
      limit: { type: "integer", minimum: 1, maximum: 100, default: 50, description: "How many notes at most." },
    },
  },
  output: {
    type: "object",
    properties: { notes: { type: "array", items: listedNote }, nextCursor: { type: "string" } },
    required: ["notes"],
  },
  handler: async ({ tag: wanted, cursor, limit }, ctx) => {
    const page = await ctx.resources.list({
      prefix: NOTE_PREFIX,
      limit,
      ...(wanted === undefined ? {} : { tag: normalizeTag(wanted) }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    const notes = page.items.map(listNote);
    const none = wanted === undefined ? "The notebook has no notes yet." : `No note has the tag "${wanted}".`;
    const more = page.cursor === undefined ? "" : `\nMore: call note_list with cursor "${page.cursor}".`;
    return {
      content: describeNotes(notes, none) + more,
      structuredContent: { notes, ...(page.cursor === undefined ? {} : { nextCursor: page.cursor }) },
    };
  },
});

const noteDelete = defineTool({
  name: "note_delete",
  title: "Delete a note",
  description:
    "Deletes one note for everyone; there is no undo. The person at the client is asked first where the client can " +
    "ask; otherwise the note is deleted at once, so be sure that the person wants it.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: { type: "object", properties: { id: noteId }, required: ["id"] },
  output: { type: "object", properties: { id: noteId, deleted: { type: "boolean" } }, required: ["id", "deleted"] },
  handler: async ({ id }, ctx) => {
    const note = await ctx.resources.get(noteUri(id));
    if (note === undefined) return noSuchNote(id);
    const title = note.title ?? note.name;
    if (!(await isDeletionConfirmed(note, ctx))) {
      const content = `Nothing was deleted: the person did not confirm. The note "${title}" (${id}) is still there.`;
      return { content, structuredContent: { id, deleted: false } };
    }
    await ctx.resources.delete(note.uri);
    return { content: `Deleted the note "${title}" (${id}).`, structuredContent: { id, deleted: true } };
  },
});

export const notebookTools = [noteWrite, noteRead, noteSearch, noteList, noteDelete];

/** The question contains lastModified, so a note that changes in the meantime is asked about again. */
async function isDeletionConfirmed(note: StoredNote, ctx: Context): Promise<boolean> {
  if (!ctx.can("elicitation")) return true;
  const answer = await ctx.elicit("confirm", {
    message: `Delete the note "${note.title ?? note.name}", last changed ${note.lastModified}? There is no undo.`,
    schema: {
      type: "object",
      properties: { confirm: { type: "boolean", title: "Delete it", default: false } },
      required: ["confirm"],
    },
  });
  return answer.action === "accept" && answer.content.confirm;
}

function noSuchNote(id: string) {
  return { isError: true, content: `There is no note with id "${id}". Call note_list to see which notes exist.` };
}

function listNote(note: StoredNote & { readonly description?: string }): ListedNote {
  return { ...summarizeNote(note), excerpt: note.description ?? "" };
}

function describeNotes(notes: readonly ListedNote[], none: string): string {
  if (notes.length === 0) return none;
  return notes.map(describeNote).join("\n");
}

function describeNote(note: ListedNote): string {
  const tags = note.tags.length === 0 ? "" : ` [${note.tags.join(", ")}]`;
  const excerpt = note.excerpt === "" ? "" : `: ${note.excerpt}`;
  return `- ${note.id} "${note.title}"${tags}${excerpt}`;
}
