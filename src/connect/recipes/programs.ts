// Starting points for programs and for the shell: a first request that lists the tools.

import { bearerOf, KEY_VARIABLE, shellWord, type ClientEndpoint, type Recipe } from "./recipe.ts";

const LIST_REQUEST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
/** A program cannot open a browser by itself, so a person must give it a token. */
const TOKEN_HINT = `Set ${KEY_VARIABLE} to an access token of a person, or to a key if the tenant accepts keys.`;

function needsKeyVariable({ access }: ClientEndpoint): boolean {
  return access.kind !== "open";
}

function keyVariableSteps({ access }: ClientEndpoint): string[] {
  if (access.kind === "open") return [];
  return access.kind === "key" ? [`Set ${KEY_VARIABLE} to the key: the program does not contain it.`] : [TOKEN_HINT];
}

const inspector: Recipe = {
  client: "inspector",
  title: "MCP Inspector",
  snippet: (endpoint) => {
    const bearer = bearerOf(endpoint);
    const header = bearer === undefined ? [] : ["--header", `Authorization: ${bearer}`];
    const words = ["--cli", endpoint.url, "--transport", "http", ...header, "--method", "tools/list"];
    return {
      language: "sh",
      text: ["npx", "@modelcontextprotocol/inspector@latest", ...words].map(shellWord).join(" "),
      steps: [
        "It prints the tools as JSON. npx @modelcontextprotocol/inspector@latest alone opens a page for the same.",
        ...(endpoint.access.kind === "login" ? ["It prints a URL, where you log in."] : []),
      ],
    };
  },
};

const curl: Recipe = {
  client: "curl",
  title: "curl",
  snippet: (endpoint) => {
    const { url, access } = endpoint;
    const bearer = bearerOf(endpoint);
    const lines = [`curl -sS ${shellWord(url)}`, "  -H 'Content-Type: application/json'"];
    if (access.kind === "login") lines.push(`  -H "Authorization: Bearer $${KEY_VARIABLE}"`);
    if (bearer !== undefined) lines.push(`  -H ${shellWord(`Authorization: ${bearer}`)}`);
    lines.push(`  -d '${LIST_REQUEST}'`);
    return {
      language: "sh",
      text: lines.join(" \\\n"),
      steps: ["One POST is enough: no handshake.", ...(access.kind === "login" ? [TOKEN_HINT] : [])],
    };
  },
};

const AUTHORIZATION = `{ Authorization: \`Bearer \${process.env.${KEY_VARIABLE}}\` }`;

/** The part that both generations of the SDK share, from the transport on. */
function typescript(endpoint: ClientEndpoint, head: readonly string[]): string {
  const options = needsKeyVariable(endpoint) ? ", { requestInit: { headers } }" : "";
  return [
    ...head,
    ...(needsKeyVariable(endpoint) ? [`const headers = ${AUTHORIZATION};`] : []),
    `const url = new URL(${JSON.stringify(endpoint.url)});`,
    `await client.connect(new StreamableHTTPClientTransport(url${options}));`,
    "const { tools } = await client.listTools();",
    "console.log(tools.map(({ name }) => name));",
    "await client.close();",
  ].join("\n");
}

const sdkV1: Recipe = {
  client: "sdk-v1",
  title: "TypeScript, SDK v1",
  snippet: (endpoint) => ({
    language: "ts",
    file: "client.mjs",
    text: typescript(endpoint, [
      'import { Client } from "@modelcontextprotocol/sdk/client/index.js";',
      'import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";',
      "",
      'const client = new Client({ name: "me", version: "1" });',
    ]),
    steps: [
      "npm install @modelcontextprotocol/sdk; node client.mjs. It speaks 2025-11-25.",
      ...keyVariableSteps(endpoint),
    ],
  }),
};

const sdkV2: Recipe = {
  client: "sdk-v2",
  title: "TypeScript, SDK v2",
  snippet: (endpoint) => ({
    language: "ts",
    file: "client.mjs",
    text: typescript(endpoint, [
      'import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";',
      "",
      'const client = new Client({ name: "me", version: "1" }, { versionNegotiation: { mode: "auto" } });',
    ]),
    steps: [
      "npm install @modelcontextprotocol/client; node client.mjs. With auto it speaks 2026-07-28.",
      ...keyVariableSteps(endpoint),
    ],
  }),
};

const python: Recipe = {
  client: "python",
  title: "Python",
  snippet: (endpoint) => {
    const url = JSON.stringify(endpoint.url);
    const list = (indent: string, server: string) => [
      `${indent}async with Client(${server}) as client:`,
      `${indent}    print([tool.name for tool in (await client.list_tools()).tools])`,
    ];
    const text = needsKeyVariable(endpoint)
      ? [
          "import asyncio",
          "import os",
          "",
          "from mcp import Client",
          "from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client",
          "",
          `URL = ${url}`,
          `HEADERS = {"Authorization": "Bearer " + os.environ["${KEY_VARIABLE}"]}`,
          "",
          "",
          "async def main():",
          "    async with create_mcp_http_client(headers=HEADERS) as http:",
          ...list("        ", "streamable_http_client(URL, http_client=http)"),
        ]
      : ["import asyncio", "", "from mcp import Client", "", "", "async def main():", ...list("    ", url)];
    return {
      language: "python",
      file: "client.py",
      text: [...text, "", "", "asyncio.run(main())"].join("\n"),
      steps: ["pip install 'mcp>=2'; python client.py.", ...keyVariableSteps(endpoint)],
    };
  },
};

export const PROGRAMS: readonly Recipe[] = [inspector, curl, sdkV1, sdkV2, python];
