import { beforeAll, describe, expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { mcpClient, ERAS, type Client, type Json } from "../support/mcp-client.ts";
import { LAB, storeAll, toolText } from "./lab-resources.ts";

const origin = fixtureOrigin();
/** What the tenant `archive` has: more than the two pages that its resources in code take. */
const ARCHIVED = { inCode: 130, stored: 150 };

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
    client = await mcpClient(revision, LAB);
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
});
