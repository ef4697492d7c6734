// Owns what each client needs to connect to an endpoint: what to run or to write down, and where. Pure. Refuses to know where
// it is shown: the connect page marks the parts up. The same as `tenantry connect` prints, in fewer bytes: test/connect-recipes.test.ts.

/** What a client needs. In `text`, `$URL` and `$ID` stand for the endpoint, and what is between « and » is for who has a key, `$KEY`. */
export interface ClientSnippet {
  readonly id: string;
  readonly label: string;
  /** Where it goes, in words. */
  readonly where: string;
  readonly text: string;
}

const HEADERS = '"headers": { "Authorization": "Bearer $KEY" }';

/** A JSON file that names servers by `member`, each with these members. */
function jsonFile(member: string, members: string): string {
  return `{\n  "${member}": {\n    "$ID": {\n      ${members}\n    }\n  }\n}`;
}

function typescript(imports: string, options = ""): string {
  const lines = [
    `${imports}\n`,
    `const client = new Client({ name: "my-app", version: "1.0.0" }${options});`,
    'const transport = new StreamableHTTPClientTransport(new URL("$URL")«, {',
    '  requestInit: { headers: { Authorization: "Bearer $KEY" } },',
    "}»);",
    "await client.connect(transport);",
    "console.log(await client.listTools());",
  ];
  return lines.join("\n");
}

export const CLIENT_SNIPPETS: readonly ClientSnippet[] = [
  [
    "claude-code",
    "Claude Code",
    "In a terminal",
    'claude mcp add --transport http $ID $URL« --header "Authorization: Bearer $KEY"»',
  ],
  [
    "claude-desktop",
    "Claude Desktop",
    "Without a key: Settings, Connectors, Add custom connector, and the address. Or in claude_desktop_config.json",
    jsonFile(
      "mcpServers",
      '"command": "npx",\n      "args": ["-y", "mcp-remote", "$URL"«, "--header", "Authorization:${AUTH_HEADER}"»]«,\n      "env": { "AUTH_HEADER": "Bearer $KEY" }»',
    ),
  ],
  [
    "vscode",
    "VS Code",
    "In .vscode/mcp.json",
    jsonFile("servers", `"type": "http",\n      "url": "$URL"«,\n      ${HEADERS}»`),
  ],
  ["cursor", "Cursor", "In ~/.cursor/mcp.json", jsonFile("mcpServers", `"url": "$URL"«,\n      ${HEADERS}»`)],
  [
    "windsurf",
    "Windsurf",
    "In ~/.codeium/windsurf/mcp_config.json",
    jsonFile("mcpServers", `"serverUrl": "$URL"«,\n      ${HEADERS}»`),
  ],
  [
    "gemini",
    "Gemini CLI",
    "In ~/.gemini/settings.json",
    jsonFile("mcpServers", `"httpUrl": "$URL"«,\n      ${HEADERS}»`),
  ],
  [
    "codex",
    "Codex",
    "In ~/.codex/config.toml",
    '[mcp_servers.$ID]\nurl = "$URL"«\nhttp_headers = { "Authorization" = "Bearer $KEY" }»',
  ],
  [
    "goose",
    "Goose",
    "In ~/.config/goose/config.yaml",
    "extensions:\n  $ID:\n    enabled: true\n    type: streamable_http\n    name: $ID\n    uri: $URL«\n    headers:\n      Authorization: Bearer $KEY»\n    timeout: 300",
  ],
  ["zed", "Zed", "In ~/.config/zed/settings.json", jsonFile("context_servers", `"url": "$URL"«,\n      ${HEADERS}»`)],
  [
    "inspector",
    "Inspector",
    "In a terminal",
    'npx @modelcontextprotocol/inspector@latest --cli $URL --transport http« --header "Authorization: Bearer $KEY"» --method tools/list',
  ],
  [
    "curl",
    "curl",
    "In a terminal",
    `curl $URL« -H 'authorization: Bearer $KEY'» -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
  ],
  [
    "sdk-v1",
    "SDK v1",
    "TypeScript, with @modelcontextprotocol/sdk",
    typescript(
      'import { Client } from "@modelcontextprotocol/sdk/client/index.js";\nimport { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";',
    ),
  ],
  [
    "sdk-v2",
    "SDK v2",
    "TypeScript, with @modelcontextprotocol/client",
    typescript(
      'import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";',
      ', { versionNegotiation: { mode: "auto" } }',
    ),
  ],
  [
    "python",
    "Python",
    "With pip install 'mcp>=2'",
    `import asyncio
from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

async def main():
    async with create_mcp_http_client(«headers={"Authorization": "Bearer $KEY"}») as http:
        async with Client(streamable_http_client("$URL", http_client=http)) as client:
            print([tool.name for tool in (await client.list_tools()).tools])

asyncio.run(main())`,
  ],
].map(([id = "", label = "", where = "", text = ""]) => ({ id, label, where, text }));

export interface SnippetPart {
  readonly text: string;
  /** For who has a key alone: it has `$KEY`. */
  readonly isKeyed: boolean;
}

/** `id`: the name that the client gives it, unique for each tenant and profile. */
export function snippetParts(
  { text }: ClientSnippet,
  { url, id }: { readonly url: string; readonly id: string },
): readonly SnippetPart[] {
  return text.split(/[«»]/).map((part, at) => ({
    text: part.replaceAll(/\$(URL|ID)/g, (_all, name) => (name === "URL" ? url : id)),
    isKeyed: at % 2 === 1,
  }));
}

/** As a program prints it. `key`: without one, nothing is said of keys. */
export function snippetText(
  snippet: ClientSnippet,
  endpoint: { readonly url: string; readonly id: string },
  key?: string,
): string {
  return snippetParts(snippet, endpoint)
    .map(({ text, isKeyed }) => (isKeyed ? (key === undefined ? "" : text.replaceAll("$KEY", () => key)) : text))
    .join("");
}

interface InstallLink {
  readonly id: string;
  readonly label: string;
  readonly href: string;
}

/** Links that a client's program opens, and adds the endpoint. */
export function installLinks(url: string, id: string, key?: string): readonly InstallLink[] {
  const more = key === undefined ? {} : { headers: { Authorization: `Bearer ${key}` } };
  const cursor = encodeURIComponent(btoa(JSON.stringify({ url, ...more })));
  const code = encodeURIComponent(JSON.stringify({ name: id, type: "http", url, ...more }));
  return [
    {
      id: "cursor",
      label: "Add to Cursor",
      href: `cursor://anysphere.cursor-deeplink/mcp/install?name=${id}&config=${cursor}`,
    },
    { id: "vscode", label: "Add to VS Code", href: `vscode:mcp/install?${code}` },
  ];
}
