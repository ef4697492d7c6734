// The connect page and `tenantry connect` tell a client the same: what each shows for one endpoint is read as the client, or a shell, reads it.
// The page's texts are shorter, because a Worker carries them; where they say something else on purpose, it stands here.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { experimental_readRawConfig as readToml } from "wrangler";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse as parseYaml } from "yaml";
import { CLIENT_SNIPPETS, installLinks, snippetText } from "../src/connect/client-snippets.ts";
import { KEY_VARIABLE, type Snippet } from "../src/protocol/connect/recipe.ts";
import { recipeFor, RECIPES } from "../src/protocol/connect/recipes.ts";

const NAME = "acme_field";
const KEY = "tnt_abc_def";
/** One that Claude Desktop cannot reach by itself. */
const LOCAL = "http://localhost:8362/mcp/acme/field";
const ENDPOINTS = [
  { what: "open", key: undefined, access: { kind: "open" } },
  { what: "keyed", key: KEY, access: { kind: "key", key: KEY } },
] as const;
const CASES = RECIPES.flatMap(({ client }) => ENDPOINTS.map((endpoint) => ({ client, ...endpoint })));

function pageText(client: string, key: string | undefined, url = LOCAL): string {
  const snippet = CLIENT_SNIPPETS.find(({ id }) => id === client);
  if (!snippet) throw new Error(`the page has no ${client}`);
  return snippetText(snippet, { url, id: NAME }, key);
}

function recipe(client: string, { access }: (typeof ENDPOINTS)[number], url = LOCAL): Snippet {
  const found = recipeFor(client);
  if (!found) throw new Error(`no recipe for ${client}`);
  return found.snippet({ name: NAME, url, access });
}

/** What the client has read, whatever is only put otherwise. */
function readBy(client: string, { language, text }: Pick<Snippet, "language" | "text">): unknown {
  switch (language) {
    case "json":
      return asked(JSON.parse(text) as Asking);
    case "toml":
      return tomlOf(text);
    case "yaml":
      return parseYaml(text);
    case "sh":
      return client === "curl" ? request(wordsOf(text)) : wordsOf(text);
    case "ts":
    case "python":
      return program(text);
    case "text":
      return text;
  }
}

interface Asking {
  readonly inputs?: readonly { readonly id: string }[];
}

/** VS Code asks a person for the key, which the page writes down. */
function asked({ inputs = [], ...file }: Asking): unknown {
  const text = inputs.reduce((said, { id }) => said.replaceAll(`\${input:${id}}`, KEY), JSON.stringify(file));
  return JSON.parse(text);
}

function tomlOf(text: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-recipes-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, "config.toml");
  writeFileSync(config, text);
  return readToml({ config }).rawConfig;
}

function wordsOf(command: string): readonly string[] {
  const [name = ""] = command.split(" ");
  const script = `${name}() { printf '%s\\0' ${name} "$@"; }\n${command}\n`;
  const { stdout, status } = spawnSync("sh", ["-c", script], { encoding: "utf8" });
  expect(status).toBe(0);
  return stdout.split("\0").slice(0, -1);
}

/** Names of headers are of no case, and the order of options is none. */
function request(words: readonly string[]): unknown {
  const after = (option: string) => words.flatMap((word, at) => (words[at - 1] === option ? [word] : []));
  const headers = after("-H").map((header) => header.replace(/^[^:]+/, (name) => name.toLowerCase()));
  return { url: words.filter((word) => word.startsWith("http")), headers: headers.toSorted(), body: after("-d") };
}

/** What it imports and whom it asks; a program on the page holds the key, and a printed one reads it. */
function program(text: string): unknown {
  const imports = text.split("\n").filter((line) => /^(?:import \{|from mcp)/.test(line));
  return {
    // Who needs no header in Python needs no more than the first.
    imports: imports.filter((line) => !line.includes("mcp.client.streamable_http") || /Authorization/.test(text)),
    urls: text.match(/http:\/\/[^"]+/g),
    negotiates: text.includes('versionNegotiation: { mode: "auto" }'),
    isKeyed: /Authorization/.test(text) && (text.includes(KEY) || text.includes(KEY_VARIABLE)),
  };
}

it("both have the same clients, in the same order", () => {
  expect(CLIENT_SNIPPETS.map(({ id }) => id)).toEqual(RECIPES.map(({ client }) => client));
});

describe.each(CASES)("$client, of an endpoint that is $what", ({ client, ...endpoint }) => {
  const printed = recipe(client, endpoint);

  it("is told the same by the page", () => {
    const shown = { language: printed.language, text: pageText(client, endpoint.key) };
    const isWritten = (value: unknown) => JSON.stringify(value).includes(LOCAL);
    expect(readBy(client, printed)).toSatisfy(isWritten);
    expect(readBy(client, shown)).toEqual(readBy(client, printed));
  });

  it("is told so in the same file", () => {
    const where = CLIENT_SNIPPETS.find(({ id }) => id === client)?.where;
    // What is run has a name for its reader's convenience.
    const { file = "", language } = printed;
    if (language !== "ts" && language !== "python") expect(where).toContain(file);
  });
});

it.each(ENDPOINTS)("links of both add the same, to an endpoint that is $what", (endpoint) => {
  const links = new Map(installLinks(LOCAL, NAME, endpoint.key).map(({ id, href }) => [id, href]));
  const printed = ["cursor", "vscode"].flatMap((client) => recipe(client, endpoint).link ?? []);
  // VS Code asks for a key, so there is nothing that a link could hold.
  expect(printed).toHaveLength(endpoint.key === undefined ? 2 : 1);
  expect([...links.values()]).toEqual(expect.arrayContaining(printed));
});

it("Claude Desktop takes an open https address by itself, which the page says, too", () => {
  const url = "https://mcp.example.com/mcp/acme";
  const { text, steps } = recipe("claude-desktop", ENDPOINTS[0], url);
  expect(text).toBe(url);
  const where = CLIENT_SNIPPETS.find(({ id }) => id === "claude-desktop")?.where;
  for (const said of [steps[0], where]) expect(said).toContain("Settings, Connectors, Add custom connector");
});

it("what differs would be seen", () => {
  const json = (member: string) =>
    ({ language: "json", text: `{"mcpServers":{"a":{"${member}":"${LOCAL}"}}}` }) as const;
  expect(readBy("cursor", json("url"))).not.toEqual(readBy("cursor", json("serverUrl")));
  const curl = (header: string) => ({ language: "sh", text: `curl ${LOCAL} -H '${header}'` }) as const;
  expect(readBy("curl", curl("A: b"))).toEqual(readBy("curl", curl("a: b")));
  expect(readBy("curl", curl("A: b"))).not.toEqual(readBy("curl", curl("A: c")));
});
