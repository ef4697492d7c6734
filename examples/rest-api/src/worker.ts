// A REST API as tools: its pages, its errors, its large and its binary answers; and a call that is cancelled on the way.
import { createWorker, defineTool, UserError, type Context } from "tenantry";
import * as z from "zod";

const books = z.object({
  items: z.array(z.object({ id: z.string(), title: z.string() })),
  next: z.string().optional(),
});

/** Asks the API as the tenant: where it is and its key are the tenant's. `ctx.fetch` ends with the call. */
async function ask(ctx: Pick<Context, "fetch" | "secret" | "settings">, path: string): Promise<Response> {
  const { api } = z.object({ api: z.url() }).parse(ctx.settings);
  const response = await ctx.fetch(new URL(path, api), {
    headers: { authorization: `Bearer ${await ctx.secret("api-key")}` },
  });
  if (response.status === 404) throw new UserError("The library does not have this.");
  // What else goes wrong is for whoever runs this, not for the model: it is logged, and the caller learns its number.
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response;
}

const listBooks = defineTool({
  name: "list_books",
  description: "The books of the library, in pages.",
  annotations: { readOnlyHint: true },
  input: z.object({ page: z.string().optional().describe("`next` of the page before.") }),
  output: books,
  handler: async ({ page }, ctx) => {
    const query = page === undefined ? "" : `?${new URLSearchParams({ page }).toString()}`;
    return books.parse(await (await ask(ctx, `/books${query}`)).json());
  },
});

const allBooks = defineTool({
  name: "export_books",
  description: "All books as one file, to be read as a resource.",
  annotations: { readOnlyHint: true },
  handler: async (_args, ctx) => {
    const lines: string[] = [];
    for (let next: string | undefined = ""; next !== undefined;) {
      const page: z.infer<typeof books> = books.parse(await (await ask(ctx, `/books?page=${next}`)).json());
      lines.push(...page.items.map(({ id, title }) => `${id},${JSON.stringify(title)}`));
      ctx.progress(lines.length);
      next = page.next;
    }
    return ctx.link(lines.join("\n"), { name: "books.csv", mimeType: "text/csv", ttl: 3_600_000 });
  },
});

const cover = defineTool({
  name: "cover",
  description: "The cover of a book.",
  annotations: { readOnlyHint: true },
  input: z.object({ id: z.string() }),
  handler: async ({ id }, ctx) => {
    const response = await ask(ctx, `/books/${encodeURIComponent(id)}/cover`);
    const data = new Uint8Array(await response.arrayBuffer());
    return { type: "image", data, mimeType: response.headers.get("content-type") ?? "image/png" };
  },
});

const worker = createWorker({
  name: "library",
  tools: [listBooks, allBooks, cover],
  settings: z.object({ api: z.url() }),
  tenants: (id, env: Env) =>
    id === "city" ? { title: "City library", settings: { api: env.LIBRARY_API } } : undefined,
});

export const { ContentObject, DirectoryObject, HubObject, SessionObject, StoredRuns, TenantObject } = worker.exports;

export default worker;
