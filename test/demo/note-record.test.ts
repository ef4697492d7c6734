// The naming of notes: ids, URIs, slugs and tags.
import { describe, expect, test } from "vitest";
import { compileJsonSchema } from "../../src/handlers/json-schema.ts";
import {
  createNoteId,
  normalizeTags,
  noteId,
  noteUri,
  parseNoteUri,
  slugOf,
  summarizeNote,
} from "../../src/demo/note-record.ts";

const violationsOf = compileJsonSchema(noteId);

describe("note ids", () => {
  test.each(["a", "0", "meeting-2026-11-21", "-", "x".repeat(64)])("%s is an id", (id) => {
    expect(violationsOf(id)).toEqual([]);
    expect(parseNoteUri(noteUri(id))).toBe(id);
  });

  test.each(["", "A", "a b", "a/b", "../a", "a_b", "é", "a\n", "x".repeat(65)])("%j is refused", (id) => {
    expect(violationsOf(id)).not.toEqual([]);
    expect(parseNoteUri(noteUri(id))).toBeUndefined();
  });

  test("a URI of another scheme names no note", () => {
    expect(parseNoteUri("docs://tenantry/limits")).toBeUndefined();
  });

  test("a new id is the title's slug and a random end", () => {
    expect(createNoteId("Café: plan für Q3!", "1a2b3c4d")).toBe("cafe-plan-fur-q3-1a2b3c4d");
  });

  test.each(["会議", "!!!", "😀"])("a title without Latin letters or digits, %s, still gives an id", (title) => {
    expect(createNoteId(title, "1a2b3c4d")).toBe("note-1a2b3c4d");
  });

  test("the longest title gives a valid id, never two the same", () => {
    const ids = [createNoteId("long title ".repeat(20)), createNoteId("long title ".repeat(20))];
    expect(ids.every((id) => violationsOf(id).length === 0)).toBe(true);
    expect(ids[0]).not.toBe(ids[1]);
  });

  test("a slug ends in a letter or digit where it is cut", () => {
    expect(slugOf(`${"a".repeat(47)} bcd`)).toBe("a".repeat(47));
  });
});

test("tags are stored once, in one spelling", () => {
  expect(normalizeTags(["To Do", "to-do", " Meeting ", "", "  "])).toEqual(["to-do", "meeting"]);
});

test("a note without a title is shown under its name", () => {
  const stored = { uri: "note://x", name: "x", tags: ["t"], lastModified: "2026-11-21T00:00:00.000Z" };
  expect(summarizeNote(stored)).toEqual({
    id: "x",
    uri: "note://x",
    title: "x",
    tags: ["t"],
    lastModified: "2026-11-21T00:00:00.000Z",
  });
});
