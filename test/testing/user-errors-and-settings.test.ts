// Three products were built on the package: their modules threw UserError, which the package in Node did not have; their
// tools read typed settings, which `runTool` refused; and `visible` hid nothing in a test.

import { describe, expect, it } from "vitest";
import type { Context } from "../../src/tenantry.ts";
import { defineResource, defineTool, TenantError, UserError } from "../../src/testing/definitions.ts";
import { readFrom, runTool } from "../../src/testing/testing.ts";

interface Settings {
  readonly plan: string;
}

const LEAD = { principal: { claims: { lead: true } } };

describe.each(["2025", "2026"] as const)("in era %s", (era) => {
  it("an error of the author's is told to the caller, and is no fault", async () => {
    const tool = defineTool({
      name: "find",
      handler: () => {
        throw new UserError("no ticket 7");
      },
    });
    expect(await runTool(tool, {}, { era })).toMatchObject({ isError: true, text: "no ticket 7", errors: [] });
    expect(new TenantError({ error: "suspended" }).code).toBe("suspended");
  });

  it("a tool that reads settings and bindings of a type of their own is run with what the test gives", async () => {
    const tool = defineTool({
      name: "plan",
      handler: (_args, ctx: Context<{ readonly NAME: string }, Settings>) => `${ctx.env.NAME} is ${ctx.settings.plan}`,
    });
    const ran = await runTool(tool, {}, { era, env: { NAME: "acme" }, settings: { plan: "paid" } });
    expect(ran.text).toBe("acme is paid");
  });

  it("what is not visible to the caller is not there", async () => {
    const visible = ({ principal }: { readonly principal: { readonly claims: object } }) => "lead" in principal.claims;
    const tool = defineTool({ name: "rename", visible, handler: () => "renamed" });
    expect((await runTool(tool, {}, { era, ...LEAD })).text).toBe("renamed");
    expect((await runTool(tool, {}, { era })).error?.code).toBe(-32602);
    const resource = defineResource({ uri: "team:plan", name: "Plan", visible, read: () => "win" });
    expect((await readFrom(resource, "team:plan", { era, ...LEAD })).text).toBe("win");
    expect((await readFrom(resource, "team:plan", { era })).error).toBeDefined();
  });

  it("where `visible` throws it is not there, and the test finds the fault", async () => {
    const visible = () => {
      throw new Error("no such claim");
    };
    const tool = defineTool({ name: "rename", visible, handler: () => "renamed" });
    const { error, errors } = await runTool(tool, {}, { era });
    expect([error?.code, errors]).toEqual([-32602, [expect.objectContaining({ message: "no such claim" })]]);
  });
});
