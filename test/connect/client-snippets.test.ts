// What clients are told to write down: it parses as what it is, with a key and without, and names the endpoint.

import { describe, expect, it } from "vitest";
import { CLIENT_SNIPPETS, installLinks, snippetText } from "../../src/connect/client-snippets.ts";

const ENDPOINT = { url: "https://mcp.example.com/mcp/acme/field", id: "acme_field" };
const KEY = "tnt_$&_key";

it("there is one for each client", () => {
  expect(CLIENT_SNIPPETS.map(({ id }) => id).join(" ")).toBe(
    "claude-code claude-desktop vscode cursor windsurf gemini codex goose zed inspector curl sdk-v1 sdk-v2 python",
  );
});

describe.each(CLIENT_SNIPPETS.map((snippet) => [snippet.id, snippet] as const))("%s", (_id, snippet) => {
  it("names the endpoint, and the key to who has one", () => {
    const [open, keyed] = [snippetText(snippet, ENDPOINT), snippetText(snippet, ENDPOINT, KEY)];
    expect(open.split(ENDPOINT.url)).toHaveLength(2);
    expect(keyed.split(KEY)).toHaveLength(2);
    expect(open).not.toMatch(/[«»]|\$(URL|ID|KEY)|Bearer|Authorization/i);
    expect(keyed).toMatch(/Bearer tnt_/);
  });

  it("is JSON where it looks so", () => {
    for (const key of [undefined, KEY]) {
      const text = snippetText(snippet, ENDPOINT, key);
      if (!text.startsWith("{")) continue;
      const [servers = {}] = Object.values(JSON.parse(text) as Record<string, Record<string, object>>);
      expect(Object.keys(servers)).toEqual([ENDPOINT.id]);
      expect(JSON.stringify(servers)).toContain(ENDPOINT.url);
    }
  });
});

it("links have a client's program add the endpoint", () => {
  const links = Object.fromEntries(installLinks(ENDPOINT.url, ENDPOINT.id, KEY).map(({ id, href }) => [id, href]));
  const headers = { Authorization: `Bearer ${KEY}` };
  const cursor = new URL(links["cursor"] ?? "").searchParams;
  expect([cursor.get("name"), JSON.parse(atob(cursor.get("config") ?? ""))]).toEqual([
    ENDPOINT.id,
    { url: ENDPOINT.url, headers },
  ]);
  const [, code = ""] = (links["vscode"] ?? "").split("?");
  expect(JSON.parse(decodeURIComponent(code))).toEqual({ name: ENDPOINT.id, type: "http", url: ENDPOINT.url, headers });
});
