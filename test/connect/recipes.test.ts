// Each snippet is parsed as its client, or its shell, parses it. Snippets run against a Worker in
// test/e2e/connect.test.ts and test/long/connected-clients.test.ts.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transformSync } from "esbuild";
import * as fc from "fast-check";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { experimental_readRawConfig as readToml } from "wrangler";
import { parse as parseYaml } from "yaml";
import { KEY_VARIABLE, serverName, type ClientEndpoint, type Snippet } from "../../src/connect/recipes/recipe.ts";
import { RECIPES, findRecipe } from "../../src/connect/recipes/recipes.ts";
import { SEED } from "../support/seed.ts";

const NAME = "acme-eu_public";
const URL_OF_IT = "https://mcp.example.com/mcp/acme-eu/public";
/** What no shell and no format may take apart. */
const KEY = `tnt_'"$HOME\`x\`\\n#{};`;
const BEARER = `Bearer ${KEY}`;

const keyed: ClientEndpoint = { name: NAME, url: URL_OF_IT, access: { kind: "key", key: KEY } };
const open: ClientEndpoint = { name: NAME, url: URL_OF_IT, access: { kind: "open" } };
const login: ClientEndpoint = { name: NAME, url: URL_OF_IT, access: { kind: "login" } };

function snippetOf(client: string, endpoint: ClientEndpoint): Snippet {
  const snippet = findRecipe(client)?.snippet(endpoint);
  if (snippet === undefined) throw new Error(`no recipe for ${client}`);
  return snippet;
}

/** The words that the program is called with. */
function wordsOf(program: string, text: string): string[] {
  const script = `${program}() { for word in "$@"; do printf '%s\\0' "$word"; done; }\n${text}\n`;
  const { stdout, status } = spawnSync("sh", ["-c", script], { encoding: "utf8", env: { [KEY_VARIABLE]: "given" } });
  expect(status).toBe(0);
  return stdout.split("\0").slice(0, -1);
}

function parseToml(text: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), "toml-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = join(folder, "config.toml");
  writeFileSync(config, text);
  return readToml({ config }).rawConfig;
}

test("no two recipes have the same client or title", () => {
  expect(new Set(RECIPES.map(({ client }) => client)).size).toBe(RECIPES.length);
  expect(new Set(RECIPES.map(({ title }) => title)).size).toBe(RECIPES.length);
});

test("a command is in double quotes where nothing in it needs others: the shell of Windows knows no single ones", () => {
  const plain: ClientEndpoint = { ...keyed, access: { kind: "key", key: "tnt_MHN2bmjaFw_KiPWjY1q" } };
  for (const client of ["claude-code", "inspector"]) {
    const { text } = snippetOf(client, plain);
    expect(text).toContain('"Authorization: Bearer tnt_MHN2bmjaFw_KiPWjY1q"');
    expect(text).not.toContain("'");
  }
});

test("two tenants and profiles never have the same name in a client", () => {
  const slug = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,6}[a-z0-9])?$/);
  const place = fc.tuple(slug, fc.option(slug, { nil: undefined }));
  const property = fc.property(place, place, (one, other) => {
    expect(serverName(...one) === serverName(...other)).toBe(
      one.join("/") === other.join("/") && one.length === other.length,
    );
    expect(serverName(...one)).toMatch(/^[A-Za-z0-9_-]+$/);
  });
  fc.assert(property, {
    ...SEED,
    examples: [
      [
        ["a-b", undefined],
        ["a", "b"],
      ],
    ],
  });
});

describe("what is merged into a file", () => {
  const HEADERS = { Authorization: BEARER };

  test.each([
    ["cursor", "mcpServers", { url: URL_OF_IT }],
    ["windsurf", "mcpServers", { serverUrl: URL_OF_IT }],
    ["gemini", "mcpServers", { httpUrl: URL_OF_IT }],
    ["zed", "context_servers", { url: URL_OF_IT }],
  ])("of %s is JSON with the URL, and the key in a header", (client, member, server) => {
    expect(JSON.parse(snippetOf(client, keyed).text)).toEqual({
      [member]: { [NAME]: { ...server, headers: HEADERS } },
    });
    for (const without of [open, login]) {
      expect(JSON.parse(snippetOf(client, without).text)).toEqual({ [member]: { [NAME]: server } });
    }
  });

  test("of VS Code has VS Code ask for the key, and does not hold it", () => {
    const { text } = snippetOf("vscode", keyed);
    const { inputs, servers } = JSON.parse(text) as { inputs: { id: string }[]; servers: Record<string, object> };
    const id = inputs[0]?.id;
    const headers = { Authorization: `Bearer \${input:${id}}` };
    expect(inputs).toEqual([{ type: "promptString", id, description: `API key of ${NAME}`, password: true }]);
    expect(servers).toEqual({ [NAME]: { type: "http", url: URL_OF_IT, headers } });
    expect(text).not.toContain("tnt_");
    expect(JSON.parse(snippetOf("vscode", open).text)).toEqual({
      servers: { [NAME]: { type: "http", url: URL_OF_IT } },
    });
  });

  test("of Codex is TOML", () => {
    const about = { url: URL_OF_IT, http_headers: HEADERS };
    expect(parseToml(snippetOf("codex", keyed).text)).toEqual({ mcp_servers: { [NAME]: about } });
    expect(parseToml(snippetOf("codex", login).text)).toEqual({ mcp_servers: { [NAME]: { url: URL_OF_IT } } });
  });

  test("of goose is YAML", () => {
    const about = { name: NAME, enabled: true, type: "streamable_http", uri: URL_OF_IT, timeout: 300 };
    expect(parseYaml(snippetOf("goose", keyed).text)).toEqual({
      extensions: { [NAME]: { ...about, headers: HEADERS } },
    });
    expect(parseYaml(snippetOf("goose", open).text)).toEqual({ extensions: { [NAME]: about } });
  });

  test("of Claude Desktop starts a bridge where its connectors do not get: with a key, and without https", () => {
    const bridge = (endpoint: ClientEndpoint) => {
      const { mcpServers } = JSON.parse(snippetOf("claude-desktop", endpoint).text) as { mcpServers: object };
      return (mcpServers as Record<string, unknown>)[NAME];
    };
    expect(bridge(keyed)).toEqual({
      command: "npx",
      args: ["-y", "mcp-remote", URL_OF_IT, "--header", "Authorization:${AUTH_HEADER}"],
      env: { AUTH_HEADER: BEARER },
    });
    const here = "http://localhost:8362/mcp/x";
    expect(bridge({ ...open, url: here })).toEqual({ command: "npx", args: ["-y", "mcp-remote", here] });
    const far = "http://mcp.example.com/mcp/x";
    expect(bridge({ ...login, url: far })).toEqual({ command: "npx", args: ["-y", "mcp-remote", far, "--allow-http"] });
    for (const endpoint of [open, login]) expect(snippetOf("claude-desktop", endpoint).text).toBe(URL_OF_IT);
  });
});

describe("what is typed at a shell", () => {
  test("for Claude Code names the server, the URL and the header", () => {
    const words = ["mcp", "add", "--transport", "http", NAME, URL_OF_IT];
    expect(wordsOf("claude", snippetOf("claude-code", keyed).text)).toEqual([
      ...words,
      "--header",
      `Authorization: ${BEARER}`,
    ]);
    expect(wordsOf("claude", snippetOf("claude-code", login).text)).toEqual(words);
  });

  test("for the Inspector and curl has the header, whatever the key is", () => {
    const header = `Authorization: ${BEARER}`;
    expect(wordsOf("npx", snippetOf("inspector", keyed).text)).toContain(header);
    expect(wordsOf("curl", snippetOf("curl", keyed).text)).toContain(header);
    expect(wordsOf("npx", snippetOf("inspector", open).text).join(" ")).not.toContain("Authorization");
    expect(wordsOf("curl", snippetOf("curl", open).text).join(" ")).not.toContain("Authorization");
    expect(wordsOf("curl", snippetOf("curl", login).text)).toContain("Authorization: Bearer given");
  });
});

describe("a program", () => {
  test.each(["sdk-v1", "sdk-v2"])("of %s is a module that takes its key from the environment", (client) => {
    const { text } = snippetOf(client, keyed);
    expect(transformSync(text, { loader: "js", format: "esm", target: "node20" }).warnings).toEqual([]);
    expect(text).toContain(`process.env.${KEY_VARIABLE}`);
    expect(text).not.toContain("tnt_");
    expect(text).toContain("client.close()");
    expect(snippetOf(client, open).text).not.toContain("Authorization");
  });

  test("of Python takes its key from the environment", () => {
    expect(snippetOf("python", keyed).text).toContain(`os.environ["${KEY_VARIABLE}"]`);
    expect(snippetOf("python", keyed).text).not.toContain("tnt_");
    expect(snippetOf("python", open).text).not.toContain("environ");
  });
});

describe("a link that has the client add the endpoint", () => {
  test("has for Cursor what its file would have", () => {
    const link = new URL(snippetOf("cursor", keyed).link ?? "");
    expect([link.protocol, link.searchParams.get("name")]).toEqual(["cursor:", NAME]);
    const server = JSON.parse(atob(link.searchParams.get("config") ?? "")) as object;
    expect({ mcpServers: { [NAME]: server } }).toEqual(JSON.parse(snippetOf("cursor", keyed).text));
  });

  test("is there for VS Code without a key, which a link would hold", () => {
    const { link = "" } = snippetOf("vscode", login);
    expect(JSON.parse(decodeURIComponent(link.replace("vscode:mcp/install?", "")))).toEqual({
      name: NAME,
      type: "http",
      url: URL_OF_IT,
    });
    expect(snippetOf("vscode", keyed).link).toBeUndefined();
  });
});

describe.each(RECIPES)("$client", ({ snippet }) => {
  let all: readonly Snippet[];

  beforeAll(() => {
    all = [keyed, open, login].map(snippet);
  });

  test("says what to do with it, and names the URL", () => {
    for (const { steps, text } of all) {
      expect(steps.length).toBeGreaterThan(0);
      expect(text).toContain(URL_OF_IT);
    }
  });

  test("says how one logs in where people do, and says nothing of it elsewhere", () => {
    const saidOf = (one: Snippet | undefined) => one?.steps.join(" ") ?? "";
    expect(saidOf(all[2])).toMatch(/log in|access token/);
    for (const other of all.slice(0, 2)) expect(saidOf(other)).not.toMatch(/log in|access token/);
  });
});
