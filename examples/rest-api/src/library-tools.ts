// Owns what a model can do with the library: a page of a list, a large answer as a file, a binary one as an image.

import { defineTool } from "tenantry";
import * as z from "zod";
import { ask, pageOf, pagesOf, type LibraryContext } from "./library-api.ts";

export const listBooks = defineTool({
  name: "list_books",
  description: "The books of the library, in pages.",
  annotations: { readOnlyHint: true },
  input: z.object({ page: z.string().optional().describe("`next` of the page before.") }),
  output: z.object({
    items: z.array(z.object({ id: z.string(), title: z.string() })),
    next: z.string().optional(),
  }),
  handler: ({ page }, ctx: LibraryContext) => pageOf(ctx, page),
});

export const exportBooks = defineTool({
  name: "export_books",
  description: "All books as one file, to be read as a resource.",
  annotations: { readOnlyHint: true },
  handler: async (_args, ctx: LibraryContext) => {
    const lines: string[] = [];
    for await (const { items } of pagesOf(ctx)) {
      lines.push(...items.map(({ id, title }) => `${id},${JSON.stringify(title)}`));
      ctx.progress(lines.length);
    }
    return ctx.link(lines.join("\n"), { name: "books.csv", mimeType: "text/csv", ttl: 3_600_000 });
  },
});

export const cover = defineTool({
  name: "cover",
  description: "The cover of a book.",
  annotations: { readOnlyHint: true },
  // No id leads to another path, as ".." would, which encodeURIComponent leaves as it is.
  input: z.object({ id: z.string().regex(/^[\w-]+$/) }),
  handler: async ({ id }, ctx: LibraryContext) => {
    const response = await ask(ctx, `/books/${id}/cover`);
    const data = new Uint8Array(await response.arrayBuffer());
    return { type: "image", data, mimeType: response.headers.get("content-type") ?? "image/png" };
  },
});
