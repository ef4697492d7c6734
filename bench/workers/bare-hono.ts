// The yardstick: Hono parses one JSON-RPC body and answers a result of fixed shape. No protocol rules, no state.
// Every ratio of the benchmark is against this Worker, so it must stay as small as it is.
import { Hono } from "hono";

interface Call {
  id: string | number;
  params: { arguments: { a: number; b: number } };
}

const app = new Hono();

app.post("/mcp/bench", async (c) => {
  const { id, params } = await c.req.json<Call>();
  const text = String(params.arguments.a + params.arguments.b);
  return c.json({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
});

export default app;
