// The template that tells clients note://{id} exists. Notes are stored resources, so the store reads them and completes
// the id.
import { defineTemplate } from "../tenantry.ts";
import { NOTE_PREFIX } from "./note-record.ts";

export const noteTemplate = defineTemplate({
  uriTemplate: `${NOTE_PREFIX}{id}`,
  name: "note",
  title: "Note",
  description: "One note of the shared notebook by its id, as Markdown.",
  mimeType: "text/markdown",
});
