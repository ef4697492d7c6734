// The built-in tools `search` and `fetch` over stored resources.

import { beforeAll, describe, expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { mcpClient, ERAS, type Client, type Json } from "../support/mcp-client.ts";
import { LAB, storeAll } from "./lab-resources.ts";

const origin = fixtureOrigin();

describe.each(ERAS)("in era $era", ({ era, revision }) => {
  let client: Client;
  beforeAll(async () => {
    client = await mcpClient(revision, LAB);
  });

  describe("search", () => {
    const word = { "2025": "quokka", "2026": "numbat" }[era];
    const base = `lab://search/${era}`;
    beforeAll(async () => {
      await storeAll([
        {
          uri: `${base}/body`,
          name: "Marsupials",
          text: `Among them the ${word}, and much about other animals of the island.`,
        },
        { uri: `${base}/title`, name: `The ${word}`, text: "A small animal of an island." },
        { uri: `${base}/tag`, name: "Tagged", tags: [word], text: "An animal of an island." },
        { uri: `${base}/both`, name: "Island", title: "Crème brûlée", text: `The ${word} eats no dessert.` },
        { uri: `${base}/bytes`, name: `${word} picture`, base64: "AAEC", mimeType: "image/png" },
        { uri: `lab://search:99999/${era}`, name: `Colon${era}`, text: "A name that is no URL, but a URI." },
      ]);
    });

    const search = async (query: string): Promise<string[]> => {
      const { result, error } = await client.request("tools/call", { name: "search", arguments: { query } });
      expect({ error, isError: result.isError }).toEqual({ error: undefined, isError: undefined });
      const { results } = result.structuredContent as { results: { id: string; title: string; url: string }[] };
      expect((result.content as Json[])[0]?.text).toBe(JSON.stringify({ results }));
      return results.map(({ id }) => id);
    };

    test("ranks a word in the title before a tag, and a tag before the text", async () => {
      const found = await search(word);
      expect(found).toHaveLength(5);
      expect(found.indexOf(`${base}/title`)).toBeLessThan(found.indexOf(`${base}/tag`));
      expect(found.indexOf(`${base}/tag`)).toBeLessThan(found.indexOf(`${base}/body`));
    });

    test("finds resources with all words, or with any if none has all", async () => {
      expect(await search(`${word} dessert`)).toEqual([`${base}/both`]);
      expect(await search(`${word} xylophone`)).toHaveLength(5);
      expect(await search(`xylophone${era}`)).toEqual([]);
    });

    test("matches beginnings of words, and ignores case and accents", async () => {
      expect(await search(word.slice(0, 4).toUpperCase())).toHaveLength(5);
      expect(await search(`creme BRULEE ${word}`)).toEqual([`${base}/both`]);
    });

    test("takes as words whatever means something to a database", async () => {
      const operators = ['"', "*", "AND OR NOT", "NEAR(a b)", "title:x", "a AND", "(", "--", "", "\u0000", "🦘"];
      for (const query of [...operators, "'; DROP TABLE resources"]) {
        expect({ query, found: await search(query) }).toEqual({ query, found: expect.any(Array) as string[] });
      }
      expect(await search(word)).toHaveLength(5);
    });

    const fetchTool = (id: unknown) => client.request("tools/call", { name: "fetch", arguments: { id } });

    test("gives ids that fetch reads", async () => {
      const { result } = await fetchTool(`${base}/both`);
      expect(result.structuredContent).toEqual({
        id: `${base}/both`,
        title: "Crème brûlée",
        text: `The ${word} eats no dessert.`,
        url: `${base}/both`,
        metadata: { mimeType: "text/plain", lastModified: expect.any(String) as string },
      });
    });

    test("gives ids that fetch reads, of names that are no URLs too", async () => {
      const [id] = await search(`Colon${era}`);
      expect(id).toBe(`lab://search:99999/${era}`);
      expect(URL.canParse(String(id))).toBe(false);
      const { result } = await fetchTool(id);
      expect(result).toMatchObject({ structuredContent: { text: "A name that is no URL, but a URI." } });
    });

    test("fetch says of bytes what they are, and of what is not stored that it is not", async () => {
      const { result } = await fetchTool(`${base}/bytes`);
      expect((result.structuredContent as Json).text).toMatch(/image\/png, 3 bytes/);
      for (const id of ["nothing", `${base}/none`, "lab://a/../b", "", "lab://a b", "__proto__"]) {
        const missing = await fetchTool(id);
        expect(missing).toMatchObject({ status: 200, result: { isError: true } });
        expect(missing.text).toContain("Nothing is stored under");
      }
    });
  });

  test("search and fetch are where the tenant switched them on", async () => {
    const names = async (tenant: string) => {
      const { result } = await (await mcpClient(revision, `${origin}/mcp/${tenant}`)).request("tools/list");
      return (result.tools as Json[]).map(({ name }) => name);
    };
    expect(await names("lab")).toEqual(expect.arrayContaining(["search", "fetch"]));
    for (const tenant of ["conformance", "founding", "archive"]) {
      expect(await names(tenant)).not.toEqual(expect.arrayContaining(["search"]));
      const other = await mcpClient(revision, `${origin}/mcp/${tenant}`);
      const { error } = await other.request("tools/call", { name: "search", arguments: { query: "a" } });
      expect(error?.code).toBe(-32602);
    }
  });
});
