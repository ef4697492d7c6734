// The package as its user has it: packed, installed into a copy of examples/own-tools outside this repository,
// type-checked, built, started with wrangler dev and called by the official client.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exampleClient, ExampleProject, toolNamesOf } from "../support/example-project.ts";

const ROOT = join(import.meta.dirname, "../..");

let project: ExampleProject;

beforeAll(async () => {
  project = await ExampleProject.of("own-tools");
}, 180_000);

afterAll(() => project.end(), 30_000);

describe("examples/own-tools on the packed package", () => {
  test("type-checks against the sources in the tarball", () => project.run("tsc"), 60_000);

  test("passes its own tests, in Node and in workerd", async () => {
    expect(await project.run("vitest", "run")).toMatch(/Tests\s+\d+ passed/);
  }, 180_000);

  test("asks for no later date than the runtime of the test tools knows, which is older than wrangler's", async () => {
    const plugin = await readFile(join(ROOT, "node_modules/@cloudflare/vitest-plugin/package.json"), "utf8");
    const { miniflare } = (JSON.parse(plugin) as { dependencies: { miniflare: string } }).dependencies;
    const [, runtime = ""] = /^5\.(\d{8})\./.exec(miniflare) ?? [];
    const config = await readFile(join(project.folder, "wrangler.toml"), "utf8");
    const [, date = ""] = /^compatibility_date = "([^"]+)"/m.exec(config) ?? [];
    expect(runtime).toMatch(/^\d{8}$/);
    expect(Number(date.replaceAll("-", ""))).toBeLessThanOrEqual(Number(runtime));
  });

  test("builds as wrangler deploy would", async () => {
    const output = await project.run("wrangler", "deploy", "--dry-run", "--outdir", "built");
    expect(output).toContain("--dry-run: exiting now");
  }, 120_000);

  test("serves its own tools and prompt, per tenant, to the official client", async () => {
    const base = await project.start();

    const acme = await exampleClient(`${base}/mcp/acme`);
    expect(acme.getNegotiatedProtocolVersion()).toBe("2026-07-28");
    expect(await toolNamesOf(acme)).toEqual(["add_workdays", "quote_shipping"]);
    const quote = await acme.callTool({ name: "quote_shipping", arguments: { weightKg: 2 } });
    expect(quote.structuredContent).toEqual({ price: 7, currency: "EUR" });
    const defaulted = await acme.callTool({ name: "add_workdays", arguments: { date: "2026-11-20" } });
    expect(defaulted.content).toEqual([{ type: "text", text: "2026-11-23" }]);
    const tooHeavy = await acme.callTool({ name: "quote_shipping", arguments: { weightKg: 500 } });
    expect(tooHeavy.isError).toBe(true);
    const prompt = await acme.getPrompt({ name: "reply_to_customer", arguments: { question: "Where is it?" } });
    expect(JSON.stringify(prompt.messages)).toContain("Where is it?");
    const tones = await acme.complete({
      ref: { type: "ref/prompt", name: "reply_to_customer" },
      argument: { name: "tone", value: "f" },
    });
    expect(tones.completion.values).toEqual(["friendly", "formal"]);
    await acme.close();

    const globex = await exampleClient(`${base}/mcp/globex`);
    expect(await toolNamesOf(globex)).toEqual(["add_workdays"]);
    await globex.close();
  }, 120_000);
});
