// The tools and the prompt alone, in plain Node: milliseconds, and no Worker. Both eras, since a client may be of either.
import { runPrompt, runTool } from "tenantry/testing";
import { describe, expect, it } from "vitest";
import { addWorkdays, quoteShipping, replyToCustomer } from "../src/tools.ts";

describe.each(["2025", "2026"] as const)("in era %s", (era) => {
  it("quotes at the rates of the tenant", async () => {
    const config = { base: 4, perKg: 1.5, currency: "EUR" };
    const quote = await runTool(quoteShipping, { weightKg: 2 }, { era, config });
    expect(quote.structured).toEqual({ price: 7, currency: "EUR" });
    expect(quote.text).toBe("2 kg ships for 7 EUR.");
  });

  it("refuses what is too heavy, before the handler sees it", async () => {
    expect(await runTool(quoteShipping, { weightKg: 500 }, { era })).toMatchObject({ isError: true, errors: [] });
  });

  it("skips weekends", async () => {
    expect((await runTool(addWorkdays, { date: "2026-11-20" }, { era })).text).toBe("2026-11-23");
  });

  it("drafts a reply", async () => {
    const reply = await runPrompt(replyToCustomer, { question: "Where is it?", tone: "short" }, { era });
    expect(reply.text).toContain("Draft a short reply");
  });
});
