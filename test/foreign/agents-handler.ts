// The stateless handler of Cloudflare's `agents`, for 2026-07-28.
import { createMcpHandler } from "agents/mcp/server";
import { everything } from "./sdk-2-everything.ts";

const handle = createMcpHandler(everything, { route: "/mcp" });

export default {
  fetch: (request: Request, env: unknown, context: ExecutionContext): Promise<Response> =>
    handle(request, env, context),
};
