// Answers of newline-delimited JSON, produced page by page as the client reads.

import { LINES_TYPE } from "./endpoint.ts";

/**
 * `next` returns the next lines, and an empty list at the end. The first page is read before the answer begins, so
 * that an error still gets its status.
 */
export async function respondLines(next: () => Promise<readonly unknown[]>): Promise<Response> {
  const encoder = new TextEncoder();
  let page: readonly unknown[] | undefined = await next();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      page ??= await next();
      if (page.length === 0) controller.close();
      else controller.enqueue(encoder.encode(page.map((line) => `${JSON.stringify(line)}\n`).join("")));
      page = undefined;
    },
  });
  return new Response(body, { headers: { "content-type": LINES_TYPE } });
}
