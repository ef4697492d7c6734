// The yardstick of a call that asks its tenant's object: the bare Hono Worker, and one call of an object that does nothing. What a
// call of an object costs is the platform's, and differs from machine to machine more than what we do with it.
import { DurableObject } from "cloudflare:workers";
import { Hono } from "hono";

interface Call {
  id: string | number;
  params: { arguments: { a: number; b: number } };
}

export class Asked extends DurableObject {
  ask(): void {}
}

interface Env {
  ASKED: DurableObjectNamespace<Asked>;
}

const app = new Hono<{ Bindings: Env }>();

app.post("/mcp/:tenant", async (c) => {
  const { id, params } = await c.req.json<Call>();
  await c.env.ASKED.getByName(c.req.param("tenant")).ask();
  const text = String(params.arguments.a + params.arguments.b);
  return c.json({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
});

export default app;
