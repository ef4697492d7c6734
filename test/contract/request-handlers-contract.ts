// What all `RequestHandlers` promise to the protocol, whatever they serve from. A test file gives its own, filled with
// the things below under whatever names it lists them, and runs this suite.

import { beforeAll, describe, expect, it } from "vitest";
import type { RequestHandlers } from "../../src/protocol/request-handlers.ts";
import type { McpRequest } from "../../src/protocol/mcp-request.ts";
import type { CallOutcome, InvalidArguments } from "../../src/protocol/call-outcome.ts";
import { parseUri } from "../../src/protocol/uri.ts";
import type { RecordingSink } from "../support/workerd/calls.ts";

export interface ContractFixture {
  readonly handlers: RequestHandlers;
  readonly call: (about?: Partial<McpRequest>) => McpRequest;
  readonly sink: () => RecordingSink;
  readonly tools: {
    /** Needs the string `text` and returns it as a text block. */
    readonly echo: string;
    /** Throws an Error with the message "broken on purpose". */
    readonly broken: string;
    /** Does not return. */
    readonly endless: string;
  };
  /** Has the argument `who`, completed from Ada, Alan and Grace, and says "Hello {who}". */
  readonly prompt: string;
  /** Text resources, more than fit on two pages. */
  readonly texts: ReadonlyMap<string, string>;
  readonly bytes: { readonly uri: string; readonly base64: string };
  /** A template over some of the texts with one variable, and a value of it. */
  readonly template: { readonly uriTemplate: string; readonly variable: string; readonly value: string };
}

const STRANGERS = ["nobody", "", "__proto__", "constructor", "toString", "../x"];

export function requestHandlersContract(name: string, make: () => Promise<ContractFixture>): void {
  describe(`${name} as request handlers`, () => {
    let fixture: ContractFixture;
    beforeAll(async () => {
      fixture = await make();
    });
    describe("tools", () => {
      toolContract(() => fixture);
    });
    describe("prompts", () => {
      promptContract(() => fixture);
    });
    describe("resources", () => {
      resourceContract(() => fixture);
    });
    describe("completion", () => {
      completionContract(() => fixture);
    });

    it("says who it is and how long its definitions may be kept", () => {
      const { server, cache } = fixture.handlers.definitions;
      expect(server).toMatchObject({ name: expect.stringMatching(/./), version: expect.any(String) });
      expect(Number.isInteger(cache.ttlMs) && cache.ttlMs >= 0).toBe(true);
      expect(["public", "private"]).toContain(cache.cacheScope);
    });
  });
}

type Of = () => ContractFixture;

function toolContract(of: Of): void {
  async function call(tool: string, args: Record<string, unknown>, about: Partial<McpRequest> = {}) {
    const { handlers, call: callOf } = of();
    const found = handlers.tool(tool);
    if (!found || !("definition" in found)) throw new Error(`no tool ${tool}`);
    return found.call(args, callOf({ params: { name: tool, arguments: args }, ...about }));
  }

  it("are found by exactly the names they are listed under, which are all different", () => {
    const { handlers } = of();
    const names = handlers.definitions.tools.map(({ wire }) => wire.name);
    expect(new Set(names).size).toBe(names.length);
    for (const listed of names) {
      expect(handlers.tool(listed)).toMatchObject({ definition: { wire: { name: listed } } });
    }
    for (const stranger of [...STRANGERS, ...names.map((listed) => `${listed} `)]) {
      expect(handlers.tool(stranger), stranger).toBeUndefined();
    }
  });

  it("list an input schema of type object and can be written as JSON", () => {
    for (const { wire } of of().handlers.definitions.tools) {
      expect(wire).toMatchObject({ inputSchema: { type: "object" } });
      expect(JSON.parse(JSON.stringify(wire))).toEqual(wire);
    }
  });

  it("return content blocks", async () => {
    expect(await call(of().tools.echo, { text: "hi 🙂" })).toMatchObject({
      kind: "complete",
      result: { content: [{ type: "text", text: "hi 🙂" }] },
    });
  });

  it.each([{}, { text: 7 }, { text: null }])("do not run with arguments that break their schema: %j", async (args) => {
    expect(refusalOf(await call(of().tools.echo, args))).toContain("text");
  });

  it("turn an exception into a result that says neither its message nor its stack", async () => {
    const outcome = await call(of().tools.broken, {});
    expect(outcome).toMatchObject({ kind: "complete", result: { isError: true } });
    const text = JSON.stringify(outcome);
    expect(text).toContain("Internal error");
    expect(text).not.toMatch(/broken on purpose|\.ts|\.js|\\n\s+at /);
  });

  it("end when the request is cancelled", async () => {
    const sink = of().sink();
    const running = call(of().tools.endless, {}, { sink });
    await scheduler.wait(1);
    sink.cancel();
    expect(await running).toMatchObject({ kind: "failure", error: "cancelled" });
  });
}

function refusalOf(outcome: CallOutcome | InvalidArguments): string {
  if (outcome.kind === "invalidArguments") return outcome.violations.map(({ path }) => path).join();
  if (outcome.kind === "complete" && "isError" in outcome.result) return JSON.stringify(outcome.result.content);
  return outcome.kind === "failure" && outcome.error === "invalidParams" ? (outcome.message ?? "") : "not refused";
}

function promptContract(of: Of): void {
  it("are found by exactly the names they are listed under", () => {
    const { handlers } = of();
    const names = handlers.definitions.prompts.map(({ wire }) => wire.name);
    expect(new Set(names).size).toBe(names.length);
    for (const listed of names) {
      expect(handlers.prompt(listed)).toMatchObject({ definition: { wire: { name: listed } } });
    }
    for (const stranger of STRANGERS) expect(handlers.prompt(stranger), stranger).toBeUndefined();
  });

  it("return messages", async () => {
    const { handlers, prompt, call } = of();
    const found = handlers.prompt(prompt);
    if (!found || !("definition" in found)) throw new Error(`no prompt ${prompt}`);
    const args = { who: "Ada" };
    const about = { method: "prompts/get", params: { name: prompt, arguments: args } };
    expect(await found.get(args, call(about))).toMatchObject({
      kind: "complete",
      result: { messages: [{ role: "user", content: { type: "text", text: "Hello Ada" } }] },
    });
  });
}

function resourceContract(of: Of): void {
  const read = (uri: string, asked = uri) =>
    of().handlers.readResource({ uri, asked }, of().call({ method: "resources/read", params: { uri: asked } }));

  it("are listed in pages, each once, with normal URIs", async () => {
    const { handlers, texts, bytes } = of();
    const listed: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await handlers.listResources(cursor, of().call({ method: "resources/list" }));
      if (!("items" in page)) throw new Error(page.message);
      for (const { uri, name } of page.items) {
        expect(parseUri(String(uri))).toEqual({ uri });
        expect(name).toEqual(expect.any(String));
        listed.push(String(uri));
      }
      pages += 1;
      cursor = page.nextCursor;
    }
    expect(pages).toBeGreaterThan(2);
    expect(listed).toHaveLength(new Set(listed).size);
    expect(new Set(listed)).toEqual(new Set([...texts.keys(), bytes.uri]));
  });

  it.each(["", "nonsense", "~", "%", "tools~0A0", "x".repeat(10_000)])("refuse the cursor %j", async (cursor) => {
    expect(await of().handlers.listResources(cursor, of().call({ method: "resources/list" }))).toMatchObject({
      kind: "failure",
      error: "invalidParams",
    });
  });

  it("are read under the name that the client used", async () => {
    for (const [uri, text] of [...of().texts].filter((_entry, at) => at % 40 === 0)) {
      const shouted = uri.replace(/^[a-z]+/, (scheme) => scheme.toUpperCase());
      for (const asked of [uri, shouted]) {
        expect(await read(uri, asked)).toMatchObject({
          kind: "complete",
          result: { contents: [{ uri: asked, text }] },
        });
      }
    }
  });

  it("are read as Base64 when they are bytes", async () => {
    const { uri, base64 } = of().bytes;
    expect(await read(uri)).toMatchObject({ kind: "complete", result: { contents: [{ uri, blob: base64 }] } });
  });

  it("say which one is missing", async () => {
    expect(await read("nowhere:at/all", "NOWHERE:at/all")).toMatchObject({
      kind: "failure",
      error: "resourceNotFound",
      data: { uri: "NOWHERE:at/all" },
    });
  });
}

function completionContract(of: Of): void {
  const complete = (ref: Parameters<RequestHandlers["complete"]>[0], name: string, value: string) =>
    of().handlers.complete(ref, { name, value, known: {} }, of().call({ method: "completion/complete" }));

  it("offers values for an argument of a prompt", async () => {
    const { prompt } = of();
    expect(await complete({ type: "prompt", name: prompt }, "who", "A")).toEqual(["Ada", "Alan"]);
    expect(await complete({ type: "prompt", name: prompt }, "who", "X")).toEqual([]);
  });

  it("offers values for a variable of a template", async () => {
    const { uriTemplate, variable, value } = of().template;
    const ref = { type: "resource", uri: uriTemplate } as const;
    expect(await complete(ref, variable, value.slice(0, 1))).toContain(value);
  });

  it.each(STRANGERS)("refuses %j as prompt, template, argument and variable", async (stranger) => {
    const { prompt, template } = of();
    const refused = { kind: "failure", error: "invalidParams" };
    expect(await complete({ type: "prompt", name: stranger }, "who", "")).toMatchObject(refused);
    expect(await complete({ type: "prompt", name: prompt }, stranger, "")).toMatchObject(refused);
    expect(await complete({ type: "resource", uri: stranger }, template.variable, "")).toMatchObject(refused);
    expect(await complete({ type: "resource", uri: template.uriTemplate }, stranger, "")).toMatchObject(refused);
  });
}
