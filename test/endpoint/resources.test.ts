import { beforeAll, describe, expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026, mcpClient, ERAS, type Client, type Json } from "../support/mcp-client.ts";

const origin = fixtureOrigin();
const lab = `${origin}/mcp/lab`;
/** What the tenant `archive` has: more than the two pages that its resources in code take. */
const ARCHIVED = { inCode: 130, stored: 150 };

async function toolText(client: Client, name: string, args: Json): Promise<string> {
  const { result, error } = await client.request("tools/call", { name, arguments: args });
  expect({ error, isError: result.isError, content: result.content }).toMatchObject({
    error: undefined,
    isError: undefined,
  });
  return String((result.content as Json[])[0]?.text);
}

/** Stored before a test begins; several at once, because none depends on another. */
async function storeAll(resources: readonly Json[]): Promise<void> {
  const client = client2026(lab);
  const left = [...resources];
  const worker = async () => {
    for (let next = left.pop(); next; next = left.pop()) await toolText(client, "lab_write", next);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

async function pagesOf(client: Client): Promise<Json[][]> {
  const pages: Json[][] = [];
  let cursor: unknown;
  do {
    const { result, error } = await client.request("resources/list", cursor === undefined ? {} : { cursor });
    expect(error).toBeUndefined();
    pages.push(result.resources as Json[]);
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  return pages;
}

describe.each(ERAS)("in era $era", ({ era, revision }) => {
  let client: Client;
  beforeAll(async () => {
    client = await mcpClient(revision, lab);
  });

  const read = async (uri: string) => {
    const { result, error } = await client.request("resources/read", { uri });
    expect(error).toBeUndefined();
    return (result.contents as Json[])[0];
  };
  const notFound = era === "2026" ? -32602 : -32002;

  test("a stored text and stored bytes are read as they were stored", async () => {
    const uri = "lab://notes/animals/otter";
    expect(await read(uri)).toMatchObject({ uri, mimeType: "text/plain", text: "Otters sleep holding hands." });
    const dot = await read("lab://images/dot");
    expect(dot).toMatchObject({ uri: "lab://images/dot", mimeType: "application/octet-stream" });
    expect([...Buffer.from(String(dot?.blob), "base64")]).toEqual(Array.from({ length: 256 }, (_none, at) => at));
  });

  test.each([
    "lab://notes/plants/caf%c3%a9%20rose",
    "LAB://notes/plants/%63af%C3%A9%20rose",
    "lab://notes/plants/café%20rose",
  ])("%s names one resource, and the contents have the requested URI", async (requestedUri) => {
    // What is no URI, for want of escapes, cannot stand in the contents.
    const uri = requestedUri.includes("é") ? "lab://notes/plants/caf%C3%A9%20rose" : requestedUri;
    expect(await read(requestedUri)).toMatchObject({
      uri,
      mimeType: "text/markdown",
      text: "# Rose\n\nIt stands on a table.",
    });
  });

  test("the list tells everything about a stored resource", async () => {
    const listed = (await pagesOf(client)).flat();
    expect(listed.find(({ name }) => name === "Café rose")).toEqual({
      uri: "lab://notes/plants/caf%C3%A9%20rose",
      name: "Café rose",
      title: "The rose of the café",
      description: "A plant with a name that is not ASCII.",
      mimeType: "text/markdown",
      size: 29,
      annotations: { audience: ["user"], priority: 0.5, lastModified: "2026-01-02T03:04:05.000Z" },
    });
    const otter = listed.find(({ name }) => name === "Otter") as Json & { annotations: Json };
    expect(Date.parse(String(otter.annotations.lastModified))).toBeLessThanOrEqual(Date.now());
  });

  test("a written resource is read at once, a replacement too, and a deleted one is gone", async () => {
    const uri = `lab://changing/${era}`;
    for (const text of ["one", "two", "", "three\r\n\u0000ü😀"]) {
      await toolText(client, "lab_write", { uri, name: "Changing", text });
      expect(await read(uri)).toMatchObject({ text });
    }
    await toolText(client, "lab_write", { uri, name: "Changing", base64: "AAEC/w==", mimeType: "image/png" });
    expect(await read(uri)).toEqual({ uri, mimeType: "image/png", blob: "AAEC/w==" });
    expect(await toolText(client, "lab_delete", { uri })).toBe("true");
    expect((await client.request("resources/read", { uri })).error?.code).toBe(notFound);
    expect(await toolText(client, "lab_delete", { uri })).toBe("false");
  });

  test("a template in code is listed and read; what it does not know is not found", async () => {
    const { result } = await client.request("resources/templates/list");
    const templates = (result.resourceTemplates as Json[]).map(({ uriTemplate }) => uriTemplate);
    expect(templates).toEqual(["lab://notes/{folder}/{id}", "lab://square/{number}", "lab://broken/{id}"]);
    expect(await read("lab://square/12")).toMatchObject({
      uri: "lab://square/12",
      mimeType: "text/plain",
      text: "144",
    });
    for (const uri of ["lab://square/x", "lab://square/", "lab://square/1/2", "lab://notes/animals/unicorn"]) {
      expect((await client.request("resources/read", { uri })).error?.code).toBe(notFound);
    }
  });

  describe("completion", () => {
    const complete = async (uri: string, name: string, value: string, known?: Json) => {
      const { result, error } = await client.request("completion/complete", {
        ref: { type: "ref/resource", uri },
        argument: { name, value },
        ...(known === undefined ? {} : { context: { arguments: known } }),
      });
      expect(error).toBeUndefined();
      return result.completion as { values: string[]; total: number; hasMore: boolean };
    };
    const NOTES = "lab://notes/{folder}/{id}";

    test("of a variable is what is stored under the template", async () => {
      expect((await complete(NOTES, "folder", "")).values).toEqual(expect.arrayContaining(["animals", "plants"]));
      expect((await complete(NOTES, "folder", "pl")).values).toEqual(["plants"]);
      expect((await complete(NOTES, "folder", "zebra")).values).toEqual([]);
    });

    test("agrees with the variables that are known, and gives values as they are written by people", async () => {
      const animals = await complete(NOTES, "id", "o", { folder: "animals" });
      expect(animals).toEqual({ values: ["otter", "owl"], total: 2, hasMore: false });
      expect((await complete(NOTES, "id", "", { folder: "plants" })).values).toEqual(["café rose", "oak"]);
      expect((await complete(NOTES, "id", "", { folder: "__proto__" })).values).toEqual([]);
    });

    test("of a variable with a completer is the completer's", async () => {
      expect((await complete("lab://square/{number}", "number", "1")).values).toEqual(["1", "10"]);
    });

    test("gives at most 100 values and says that there are more", async () => {
      const folder = `many-${era}`;
      const ids = Array.from({ length: 105 }, (_none, at) => `id-${String(at).padStart(3, "0")}`);
      await storeAll(ids.map((id) => ({ uri: `lab://notes/${folder}/${id}`, name: id })));
      const { values, total, hasMore } = await complete(NOTES, "id", "id-", { folder });
      expect(values).toEqual(ids.slice(0, 100));
      expect({ total, hasMore }).toEqual({ total: 105, hasMore: true });
      expect((await complete(NOTES, "id", "id-10", { folder })).values).toEqual(ids.slice(100));
    });

    test("of a prompt's argument is its completer's, and empty without one", async () => {
      const of = async (name: string, value: string) => {
        const ref = { type: "ref/prompt", name: "lab_letter" };
        const { result } = await client.request("completion/complete", { ref, argument: { name, value } });
        return (result.completion as Json).values;
      };
      expect(await of("flower", "a")).toEqual(["anemone", "aster"]);
      expect(await of("key", "a")).toEqual([]);
    });
  });

  test("the pages of a long list visit each URI once", async () => {
    const pages = await pagesOf(await mcpClient(revision, `${origin}/mcp/archive`));
    expect(pages.map((page) => page.length)).toEqual([100, 100, 80]);
    const named = (what: string, count: number) =>
      Array.from({ length: count }, (_none, at) => `archive://${what}/${String(at).padStart(3, "0")}`);
    expect(pages.flat().map(({ uri }) => uri)).toEqual([
      ...named("code", ARCHIVED.inCode),
      ...named("stored", ARCHIVED.stored),
    ]);
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
