// Owns asking the REST API: where it is, who asks, and which of its answers a caller may read.

import { UserError, type Context } from "tenantry";
import * as z from "zod";

/** What a tenant says once for all tools. Its key is a secret, and no setting. */
export const settings = z.object({ api: z.url() });

/** `ctx` of every tool here. */
export type LibraryContext = Context<Env, z.infer<typeof settings>>;

const OWN_LIMIT_MS = 10_000;

const page = z.object({
  items: z.array(z.object({ id: z.string(), title: z.string() })),
  next: z.string().optional(),
});
export type Page = z.infer<typeof page>;

/** Ends with the call, when it is cancelled or its time is over; and after a time limit of its own. */
export async function ask(ctx: LibraryContext, path: string): Promise<Response> {
  const response = await ctx.fetch(new URL(path, ctx.settings.api), {
    headers: { authorization: `Bearer ${await ctx.secret("api_key")}` },
    signal: AbortSignal.timeout(OWN_LIMIT_MS),
  });
  if (response.status === 404) throw new UserError("The library does not have this.");
  // Any other failure goes to the log. The caller gets only its id.
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response;
}

export async function pageOf(ctx: LibraryContext, from?: string): Promise<Page> {
  const query = from === undefined ? "" : `?${new URLSearchParams({ page: from }).toString()}`;
  return page.parse(await (await ask(ctx, `/books${query}`)).json());
}

/** All pages, one after the other. */
export async function* pagesOf(ctx: LibraryContext): AsyncGenerator<Page> {
  for (let from: string | undefined; ;) {
    const next = await pageOf(ctx, from);
    yield next;
    if (next.next === undefined) return;
    from = next.next;
  }
}
