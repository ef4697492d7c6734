// Owns answering who still sends a large body, where a Worker is developed: the proxies of `wrangler dev` end a connection
// whose body is not read to its end, and its client sees a reset in place of the answer. Not in what is deployed, where the
// platform tells the client: there a body that nobody wants is given up at once.

import { SMALL_BYTES } from "../tenants/isolate/held-bytes.ts";

type Serve<Env> = (request: Request, env: Env, ctx: ExecutionContext) => Response | Promise<Response>;

/** What is read and dropped of one body; more than any client of the admin API or of MCP may send. */
const MOST_BYTES = 64 * 1024 * 1024;
const SILENCE_MS = 300;
const MOST_MS = 10_000;

/** Answers when the rest of the body has come, and was dropped piece by piece; or when it comes no more, or too long. */
export function hearingOut<Env>(serve: Serve<Env>): Serve<Env> {
  return async (request, env, ctx) => {
    const { body, headers, method, signal } = request;
    const isSmall = Number(headers.get("content-length") ?? Infinity) <= SMALL_BYTES;
    if (body === null || isSmall || request.bodyUsed) return serve(request, env, ctx);
    const reader = body.getReader();
    let isOver = false;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const { done, value } = await reader.read();
      if (!done) {
        controller.enqueue(value);
        return;
      }
      isOver = true;
      controller.close();
    };
    const passedOn = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
    const response = await serve(new Request(request, { method, body: passedOn, signal }), env, ctx);
    // In development alone; the client has its answer.
    if (!isOver) await dropRest(reader).catch(() => {});
    return response;
  };
}

async function dropRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const end = Date.now() + MOST_MS;
  for (let bytes = 0; bytes < MOST_BYTES && Date.now() < end;) {
    const silence = scheduler.wait(SILENCE_MS);
    const piece = await Promise.race([reader.read(), silence]);
    if (!piece || piece.done) break;
    bytes += piece.value.byteLength;
  }
  await reader.cancel();
}
