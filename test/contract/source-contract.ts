// What every `Source` promises to the one who composes sources, whatever it offers from. A test file gives its own
// source with a host for it, and runs this suite.

import { beforeAll, describe, expect, it } from "vitest";
import type { McpRequest } from "../../src/protocol/mcp-request.ts";
import type { SourceTemplate, Source } from "../../src/protocol/source.ts";
import { parseUri } from "../../src/protocol/uri.ts";
import { parseUriTemplate } from "../../src/protocol/uri-template.ts";

export interface SourceFixture<Host> {
  /** Made anew: two of the same things are the same to whoever asks. */
  make(): Source<Host>;
  readonly host: Host;
  call(about?: Partial<McpRequest>): McpRequest;
}

export function sourceContract<Host>(name: string, given: () => Promise<SourceFixture<Host>>): void {
  describe(`${name} as a source`, () => {
    let fixture: SourceFixture<Host>;
    let source: Source<Host>;
    beforeAll(async () => {
      fixture = await given();
      source = fixture.make();
    });

    it("has an id and a state, which are the same as long as it offers the same", () => {
      expect(source.id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(["fresh", "lastGood", "degraded", "unread"]).toContain(source.state.kind);
      const { id, state } = fixture.make();
      expect({ id, state }).toEqual({ id: source.id, state: source.state });
    });

    it("offers each name once, and can write everything that it offers as JSON", () => {
      const named = [source.tools, source.prompts].map((list) => list.map((item) => item.name));
      const uris = [source.resources.map(({ uri }) => uri), source.templates.map(({ wire }) => wire.uriTemplate)];
      for (const names of [...named, ...uris]) expect(new Set(names).size).toBe(names.length);
      const definitions = [...source.tools, ...source.prompts, ...source.resources, ...source.templates];
      for (const { wire } of definitions) expect(JSON.parse(JSON.stringify(wire))).toEqual(wire);
      for (const { name: own, wire } of [...source.tools, ...source.prompts]) expect(wire.name).toBe(own);
    });

    it("says of each tool what it takes and whether it may be run twice", () => {
      for (const { wire, repeatable, paramHeaders } of source.tools) {
        expect(wire.inputSchema).toMatchObject({ type: "object" });
        expect([typeof repeatable, Array.isArray(paramHeaders)]).toEqual(["boolean", true]);
      }
    });

    it("has URIs in normal form, and templates that can be read", () => {
      for (const { uri } of source.resources) expect(parseUri(uri)).toEqual({ uri });
      for (const { wire } of source.templates) expect(parseUriTemplate(wire.uriTemplate)).not.toHaveProperty("broken");
    });

    it("reads what it has in memory under the name that is asked for", async () => {
      for (const resource of source.resources.slice(0, 3)) {
        const ref = { uri: resource.uri, asked: resource.uri.toUpperCase() };
        const outcome = await resource.read(ref, fixture.call({ method: "resources/read" }), fixture.host);
        expect(outcome).toMatchObject({ kind: "complete", result: { contents: [{ uri: ref.asked }] } });
      }
    });

    it("has no resource that it does not have", async () => {
      const stranger = { uri: "stranger:nobody", asked: "stranger:nobody" };
      const readers: Pick<SourceTemplate<Host>, "read">[] = [...source.templates];
      if (source.shelf) readers.push(source.shelf);
      for (const reader of readers) {
        const read = reader.read(stranger, fixture.call({ method: "resources/read" }), fixture.host);
        expect(await read.catch(() => undefined)).toBeUndefined();
      }
    });

    it("lists its shelf in pages of at most what is asked for, each resource once, and to an end", async () => {
      const { shelf } = source;
      if (!shelf) return;
      const listed: string[] = [];
      let cursor: string | undefined;
      for (let pages = 0; pages < 1000; pages += 1) {
        const page = await shelf.list({ cursor, limit: 7 }, fixture.host).catch(() => ({ items: [], next: undefined }));
        expect(page.items.length).toBeLessThanOrEqual(7);
        listed.push(...page.items.map(({ uri }) => uri));
        cursor = page.next;
        if (cursor === undefined) break;
      }
      expect(cursor).toBeUndefined();
      expect(new Set(listed).size).toBe(listed.length);
    });

    it("may be told what somebody listens for, and that they ended", () => {
      const wanted = { tools: true, prompts: false, resources: true, uris: ["note:a"] };
      const end = source.interest?.(wanted, fixture.host);
      expect(() => end?.()).not.toThrow();
    });
  });
}
