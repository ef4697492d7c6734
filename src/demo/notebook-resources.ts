// How notes appear as resources: the template that tells clients note://{id} exists.
// Reads and completes nothing itself: the notes are stored resources, and what is stored completes the id.
import { defineTemplate } from "../tenantry.ts";
import { NOTE_PREFIX } from "./note-record.ts";

export const noteTemplate = defineTemplate({
  uriTemplate: `${NOTE_PREFIX}{id}`,
  name: "note",
  title: "Note",
  description: "One note of the shared notebook by its id, as Markdown.",
  mimeType: "text/markdown",
});
