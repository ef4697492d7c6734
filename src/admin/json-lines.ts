// Owns answers that are lines of JSON, one text a line, made page by page as they are read.

import { LINES_TYPE } from "./endpoint.ts";

/** `next`: the lines that come next, until there are none. The first are read before the answer begins, so it can fail. */
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
