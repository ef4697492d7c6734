import { expect, expectTypeOf, it } from "vitest";
import * as z from "zod";
import { CallContext } from "../../src/handlers/call-context.ts";
import { ReplayElicitor } from "../../src/handlers/elicitor.ts";
import type { Context } from "../../src/handlers/context.ts";
import { callOf, requestScopeOf } from "../support/workerd/calls.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

/** A handler's context in the run in which the answer has come. */
function answeredWith(content: unknown): Context {
  const answers = { order: { action: "accept", content } };
  const claims = { claim: () => Promise.reject(new Error("none")), settle: () => Promise.resolve() };
  const elicitor = new ReplayElicitor({ elicitation: {} }, undefined, answers, claims);
  return new CallContext(callOf(), requestScopeOf(freshTenant()), elicitor, "tool") as unknown as Context;
}

const order = z.object({
  size: z.enum(["s", "m"]).default("m"),
  code: z.string().refine((code) => code.startsWith("A"), "begins with A"),
});

it("an answer has the defaults of a zod schema, and the types", async () => {
  const answer = await answeredWith({ code: "A1" }).elicit("order", { message: "What?", schema: order });
  expect(answer).toEqual({ action: "accept", content: { size: "m", code: "A1" } });
  if (answer.action === "accept") expectTypeOf(answer.content).toEqualTypeOf<{ size: "s" | "m"; code: string }>();
});

it("an answer has the defaults of a JSON Schema", async () => {
  const schema = {
    type: "object",
    properties: { size: { type: "string", default: "m" }, many: { type: "integer" } },
    required: ["many"],
  } as const;
  const answer = await answeredWith({ many: 2 }).elicit("order", { message: "What?", schema });
  expect(answer).toEqual({ action: "accept", content: { size: "m", many: 2 } });
  if (answer.action === "accept") expectTypeOf(answer.content).toEqualTypeOf<{ size: string; many: number }>();
});

it("an answer that breaks a rule which JSON Schema cannot say is refused, and the client is told which", async () => {
  const question = answeredWith({ code: "B1" }).elicit("order", { message: "What?", schema: order });
  await expect(question).rejects.toMatchObject({
    key: "invalidParams",
    message: 'The answer to "order": code: begins with A',
  });
});

it("an answer to a URL is whatever the client says, and any object to the compiler", async () => {
  const answers = { order: { action: "accept" } };
  const claims = { claim: () => Promise.reject(new Error("none")), settle: () => Promise.resolve() };
  const elicitor = new ReplayElicitor({ elicitation: { url: {} } }, undefined, answers, claims);
  const ctx = new CallContext(callOf(), requestScopeOf(freshTenant()), elicitor, "tool") as unknown as Context;
  const answer = await ctx.elicit("order", { message: "Open", url: "https://example.com/pay" });
  expect(answer).toEqual({ action: "accept" });
});
