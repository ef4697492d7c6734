// The mistakes that an author makes most, as the compiler says them: in few lines, with the name of the member. Plain options
// of an author's own: strict, nodenext, noUncheckedIndexedAccess. What is right compiles, in the same words.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const MOST_LINES = 5;

const HEAD = `
import * as z from "zod";
import { runTool } from "tenantry/testing";
import { createWorker, definePrompt, defineResource, defineTemplate, defineTool, type CompletionContext, type Context } from "tenantry";
interface Bindings { DB: string }
interface Row { id: number; note: string | null }
declare function row(): Promise<Row>;
const price = z.object({ price: z.number(), currency: z.enum(["EUR", "USD"]) });
`;

const MISTAKES: readonly [what: string, code: string, names: string][] = [
  [
    "an argument by another name",
    `defineTool({ name: "t", input: z.object({ city: z.string() }), handler: ({ town }) => town });`,
    "'town'",
  ],
  [
    "a member of an object that the schema has otherwise",
    `defineTool({ name: "t", output: price, handler: () => ({ price: "7", currency: "EUR" }) });`,
    "output: price",
  ],
  [
    "a member that the schema wants and is not there, after a wait",
    `defineTool({ name: "t", output: price, handler: async () => { await row(); return { price: 7 }; } });`,
    "output: currency",
  ],
  [
    "a wrong member in a whole result",
    `defineTool({ name: "t", output: price, handler: () => ({ structuredContent: { price: 7, currency: "GBP" } }) });`,
    "output: currency",
  ],
  [
    "a misspelt member of a content block, after a wait",
    `defineTool({ name: "t", handler: async (_args, ctx) => ({ content: [{ type: "text", txt: ctx.tenant.id }] }) });`,
    "text: text",
  ],
  [
    "a member that a content block does not have",
    `defineTool({ name: "t", handler: () => ({ type: "image", data: "AA==", mimeType: "image/png", alt: "a dot" }) });`,
    "alt",
  ],
  [
    "rows of a database in place of content",
    `defineTool({ name: "t", handler: async () => [await row()] });`,
    "write { items: [...] } for other lists",
  ],
  [
    "a content block without its type of content",
    `defineTool({ name: "t", handler: () => [{ type: "audio", data: "AA==" }] });`,
    "mimeType",
  ],
  [
    "a member beside the members of a result",
    `defineTool({ name: "t", handler: () => ({ id: 7, content: "a note" }) });`,
    "a result has no id",
  ],
  ["nothing to return", `defineTool({ name: "t", handler: () => {} });`, "a tool must return a text"],
  ["a binding that is not there", `defineTool({ name: "t", handler: (_args, ctx) => ctx.env.DB });`, "'DB'"],
  [
    "a tool that wants a binding which the Worker lacks",
    `const tool = defineTool({ name: "t", handler: (_args, ctx: Context<Bindings>) => ctx.env.DB });
     createWorker<{ KV: string }>({ tools: [tool] });`,
    "'DB'",
  ],
  [
    "a tool that reads settings which the Worker's schema does not have",
    `const tool = defineTool({ name: "t", handler: (_args, ctx: Context<Bindings, { plan: string }>) => ctx.settings.plan });
     createWorker<Bindings>({ tools: [tool] });
     createWorker({ tools: [defineTool({ name: "u", handler: (_args, ctx: Context<{}, { plan: string }>) => ctx.settings.plan })],
       settings: z.object({ plam: z.string() }) });`,
    "'plan'",
  ],
  [
    "a member of the configuration by another name",
    `defineTool({ name: "t", config: z.object({ rate: z.number() }), handler: (_args, ctx) => String(ctx.config.rat) });`,
    "'rat'",
  ],
  [
    "an argument that a prompt does not declare",
    `definePrompt({ name: "p", arguments: { question: { required: true } }, handler: ({ qestion }) => qestion });`,
    "'qestion'",
  ],
  [
    "an optional argument of a prompt that is taken as given",
    `definePrompt({ name: "p", arguments: { tone: {} }, handler: ({ tone }) => tone.toUpperCase() });`,
    "'tone'",
  ],
  [
    "a variable that a template does not have",
    `defineTemplate({ uriTemplate: "note://{id}", name: "n", read: ({ key }) => key });`,
    "'key'",
  ],
  [
    "a variable of a query that is taken as given",
    `defineTemplate({ uriTemplate: "note://all{?page}", name: "n", read: ({ page }) => page.trim() });`,
    "'page'",
  ],
  [
    "a completer of a variable that is not there",
    `defineTemplate({ uriTemplate: "note://{id}", name: "n", complete: { key: () => [] } });`,
    "'key'",
  ],
  [
    "a member of what a person accepted by another name",
    `defineTool({ name: "t", handler: async (_args, ctx) => {
       const said = await ctx.elicit("sure", { message: "Sure?", schema: z.object({ sure: z.boolean() }) });
       return said.action === "accept" ? String(said.content.shure) : "no";
     } });`,
    "'shure'",
  ],
  [
    "a question to a model without how much it may say",
    `defineTool({ name: "t", handler: async (_args, ctx) => (await ctx.sample("s", { messages: [] })).model });`,
    "'maxTokens'",
  ],
  [
    "a list in place of the object that the schema wants, after a wait",
    `defineTool({ name: "t", output: price, handler: async () => [{ price: (await row()).id, currency: "EUR" as const }] });`,
    "output",
  ],
  [
    "a role that no message of a prompt has",
    `definePrompt({ name: "p", handler: () => [{ role: "system", content: { type: "text", text: "Be brief." } }] });`,
    '"system"',
  ],
  [
    "a member that the content of a template does not have",
    `defineTemplate({ uriTemplate: "note://{id}", name: "n", read: ({ id }) => ({ txt: id }) });`,
    "txt",
  ],
  [
    "a configuration without its schema",
    `defineTool({ name: "t", handler: (_args, ctx) => String(ctx.config.rate) });`,
    "'ctx.config' is of type 'unknown'",
  ],
  [
    "a name of a type in place of the schema of a form",
    `defineTool({ name: "t", handler: async (_args, ctx) =>
       (await ctx.elicit("sure", { message: "Sure?", schema: "boolean" })).action });`,
    "'AnySchema'",
  ],
  ["an option by another name", `defineTool({ name: "t", titel: "T", handler: () => "" });`, "'titel'"],
];

/** What the first line says, and where it points: the text that begins at its place. */
const FIRST_LINES: readonly [what: string, code: string, at: string, says: string][] = [
  [
    "inputSchema in place of input",
    `defineTool({ name: "t", inputSchema: z.object({ a: z.string() }), handler: ({ a }) => a });`,
    "inputSchema:",
    '"use input"',
  ],
  [
    "outputSchema in place of output, after a wait",
    `defineTool({ name: "t", outputSchema: price, handler: async () => { await row(); return { price: 7, currency: "EUR" }; } });`,
    "outputSchema:",
    '"use output"',
  ],
  [
    "parameters in place of input",
    `defineTool({ name: "t", parameters: z.object({ a: z.string() }), handler: ({ a }) => a });`,
    "parameters:",
    '"use input"',
  ],
  [
    "execute in place of handler",
    `defineTool({ name: "t", input: z.object({ a: z.string() }), execute: async ({ a }) => a });`,
    "execute:",
    '"use handler"',
  ],
  [
    "a zod shape as input",
    `defineTool({ name: "t", input: { room: z.string() }, handler: ({ room }) => room });`,
    "input:",
    "write z.object({ ... })",
  ],
  [
    "a zod shape as output",
    `defineTool({ name: "t", output: { room: z.string() }, handler: () => ({ room: "blue" }) });`,
    "output:",
    "write z.object({ ... })",
  ],
  [
    "a zod shape as config",
    `defineTool({ name: "t", config: { rate: z.number() }, handler: () => "" });`,
    "config:",
    "write z.object({ ... })",
  ],
  [
    "a zod shape as settings",
    `createWorker({ settings: { plan: z.string() } });`,
    "settings:",
    "write z.object({ ... })",
  ],
  [
    "a hint by another name",
    `defineTool({ name: "t", annotations: { readOnly: true }, handler: async () => "" });`,
    "readOnly:",
    "'readOnly' does not exist in type 'ToolAnnotations'",
  ],
  [
    "a hint by another name, with arguments",
    `defineTool({ name: "t", input: z.object({ a: z.string() }), annotations: { readOnly: true }, handler: ({ a }) => a });`,
    "readOnly:",
    "'readOnly' does not exist in type 'ToolAnnotations'",
  ],
  [
    "an era that is none",
    `runTool(defineTool({ name: "t", handler: () => "" }), {}, { era: "2024" });`,
    "era:",
    '"2025" | "2026"',
  ],
  [
    "a capability that is none",
    `defineTool({ name: "t", handler: (_args, ctx) => String(ctx.can("elicit")) });`,
    '"elicit"',
    '"elicitation.form"',
  ],
  [
    "a question without anything",
    `defineTool({ name: "t", handler: async (_args, ctx) => (await ctx.elicit("sure", {})).action });`,
    "{}",
    "readonly message: string; readonly schema: ",
  ],
  [
    "a question without its form",
    `defineTool({ name: "t", handler: async (_args, ctx) => (await ctx.elicit("sure", { message: "Sure?" })).action });`,
    "{ message",
    "readonly schema: ",
  ],
  [
    "a zod shape as form",
    `defineTool({ name: "t", handler: async (_args, ctx) =>
       (await ctx.elicit("sure", { message: "Sure?", schema: { sure: z.boolean() } })).action });`,
    "schema:",
    "write z.object({ ... })",
  ],
  [
    "a resource without content",
    `defineResource({ uri: "a:b", name: "r" });`,
    "{ uri",
    "'ResourceWithBlob<Env, Settings> | ResourceWithRead<Env, Settings> | ResourceWithText<Env, Settings>'",
  ],
];
/** Mistakes after which the compiler has a second complaint: without a schema, the handler's arguments have no type. */
const SECOND_COMPLAINTS = [
  "inputSchema in place of input",
  "parameters in place of input",
  "execute in place of handler",
  "a zod shape as input",
];

const RIGHT = `
export const tools = [
  defineTool({ name: "object", handler: () => ({ price: 7 }) }),
  defineTool({ name: "row", handler: async () => row() }),
  defineTool({ name: "fits", output: price, handler: () => ({ price: 7, currency: "EUR" }) }),
  defineTool({ name: "wait", output: price, handler: async () => ({ price: (await row()).id, currency: "USD" }) }),
  defineTool({ name: "whole", output: price, handler: () => ({ content: "7 EUR", structuredContent: { price: 7, currency: "EUR" } }) }),
  defineTool({ name: "refused", output: price, handler: async (_args, ctx) => ctx.can("roots") ? none() : { price: 7, currency: "EUR" } }),
  defineTool({ name: "mixed", handler: async (_args, ctx) => {
    if (ctx.can("roots")) return "a text";
    if (ctx.can("sampling")) return { isError: true, content: "no" };
    if (ctx.can("elicitation")) return [{ type: "text", text: "a" }, { type: "resource_link", uri: "a:b", name: "b" }];
    return row();
  } }),
  defineTool({ name: "json", input: { type: "object", properties: { kind: { enum: ["a", "b"] } }, required: ["kind"] },
    output: { type: "object", properties: { kind: { enum: ["a", "b"] } }, required: ["kind"] }, handler: ({ kind }) => ({ kind }) }),
  defineTool({ name: "config", config: z.object({ rate: z.number().default(1) }), handler: (_args, ctx) => ctx.config.rate.toFixed(2) }),
  defineTool({ name: "env", input: z.object({ n: z.number() }), handler: ({ n }, ctx: Context<Bindings>) => ctx.env.DB + n }),
];
function none() { return { isError: true, content: "no" }; }
const settings = z.object({ plan: z.enum(["free", "paid"]) });
type Mine = Context<Bindings, z.infer<typeof settings>>;
export const prompt = definePrompt({
  name: "p",
  arguments: { question: { required: true }, tone: { complete: (value, about) => [value, about.arguments.question ?? ""] } },
  handler: ({ question, tone }, ctx: Mine) => question.trim() + (tone?.trim() ?? "") + ctx.settings.plan,
});
export const template = defineTemplate({
  uriTemplate: "note://{id}/{+rest}{?page,size*}",
  name: "n",
  complete: {
    id: (value, about) => [value, about.arguments.rest ?? ""],
    rest: (_value, { ctx }: CompletionContext<string, Mine>) => [ctx.settings.plan],
  },
  read: ({ id, rest, page, size }, ctx: Mine) => id + rest + (page ?? size ?? "") + ctx.settings.plan,
});
export const resource = defineResource({ uri: "a:b", name: "r", read: (ctx: Mine) => ctx.env.DB });
export default createWorker<Bindings>({ tools, prompts: [prompt], resources: [template, resource], settings });
`;

/** What the compiler says of each text, by its file's name. One run for all of them: each run reads the package anew. */
function compile(files: Readonly<Record<string, string>>): ReadonlyMap<string, readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-typed-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"), "dir");
  const compilerOptions = {
    target: "es2024",
    lib: ["es2024"],
    module: "nodenext",
    types: ["@cloudflare/workers-types"],
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    paths: { tenantry: [join(ROOT, "src/tenantry.ts")], "tenantry/testing": [join(ROOT, "src/testing/testing.ts")] },
  };
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, `${name}.ts`), HEAD + code);
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [compiler, "-p", folder, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  const said = new Map<string, string[]>();
  let file = "";
  for (const line of stdout.split("\n").filter((one) => one !== "")) {
    file = /^(\S+)\.ts\(\d+,\d+\): /.exec(line)?.[1] ?? file;
    said.set(file, [...(said.get(file) ?? []), line]);
  }
  return said;
}

describe("the compiler", () => {
  it("says each usual mistake in few lines, with the member's name, and nothing of what is right", () => {
    const files = Object.fromEntries([
      ...MISTAKES.map(([, code], at) => [`mistake${at}`, code] as const),
      ...FIRST_LINES.map(([, code], at) => [`first${at}`, code] as const),
    ]);
    const said = compile({ ...files, right: RIGHT });
    expect(said.get("right")).toBeUndefined();
    expect([...said.keys()].toSorted()).toEqual(Object.keys(files).toSorted());
    for (const [at, [what, , names]] of MISTAKES.entries()) {
      const lines = said.get(`mistake${at}`) ?? [];
      expect(lines.join("\n"), what).toContain(names);
      expect(lines.length, `${what}:\n${lines.join("\n")}`).toBeLessThanOrEqual(MOST_LINES);
    }
    for (const [at, [what, code, place, names]] of FIRST_LINES.entries()) {
      const lines = said.get(`first${at}`) ?? [];
      const [, line, column] = /^\S+\((\d+),(\d+)\)/.exec(lines[0] ?? "") ?? [];
      expect(lines[0], what).toContain(names);
      expect((HEAD + code).split("\n")[Number(line) - 1]?.slice(Number(column) - 1), what).toSatisfy((text: string) =>
        text.startsWith(place),
      );
      const errors = lines.filter((one) => !one.startsWith(" "));
      if (!SECOND_COMPLAINTS.includes(what)) expect(errors, what).toHaveLength(1);
    }
  });
});
