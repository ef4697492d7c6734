// Owns the page that a person sees at an MCP URL: what it is, and how to connect a client to it.

import { markup } from "../deployment/markup.ts";
import { NO_STORE } from "./respond.ts";

interface PageAbout {
  readonly id: string;
  /** What stands before /mcp in the URL. */
  readonly mount: string;
  /** What follows it. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
}

interface PageLists {
  readonly tools: readonly { readonly wire: { readonly name: string } }[];
  readonly prompts: readonly { readonly wire: { readonly name: string } }[];
}

export function wantsPage(request: Request): boolean {
  return (request.headers.get("accept") ?? "").toLowerCase().includes("text/html");
}

const STYLE = `
:root{color-scheme:light dark}body{margin:0;font:16px/1.5 system-ui,sans-serif}main{max-width:46rem;margin:auto;padding:3rem 1.25rem}
h1{font-size:1.6rem;margin:0}h2{font-size:1rem;margin:2rem 0 .5rem}p,ul,footer{color:GrayText}
pre{background:color-mix(in srgb,CanvasText 5%,Canvas);border-radius:6px;padding:.75rem 1rem;overflow:auto;margin:0;user-select:all}
`;

/** No script and nothing from elsewhere: the policy below forbids both. */
const SECURITY = {
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

export function connectPage(request: Request, about: PageAbout, lists: PageLists): Response {
  const { origin } = new URL(request.url);
  const url = `${origin}${about.mount}/mcp${about.path}`;
  const named = about.title ?? about.id;
  const config = JSON.stringify({ mcpServers: { [about.id]: { type: "http", url } } }, null, 2);
  const bridge = JSON.stringify({ mcpServers: { [about.id]: { command: "npx", args: ["mcp-remote", url] } } }, null, 2);
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const page = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${named} - MCP endpoint</title>
<style>
${STYLE}
</style>
</head>
<body>
<main>
<h1>${named}</h1>
<p>${about.description ?? "A Model Context Protocol endpoint. Point an MCP client at this address."}</p>
<pre class="url">${url}</pre>
<h2>Claude Code</h2>
<pre>claude mcp add --transport http ${about.id} ${url}</pre>
<h2>VS Code</h2>
<pre>code --add-mcp '${JSON.stringify({ name: about.id, type: "http", url })}'</pre>
<h2>Cursor and other clients with a JSON file</h2>
<pre>${config}</pre>
<h2>Clients that only start local programs</h2>
<pre>${bridge}</pre>
<h2>From the shell</h2>
<pre>curl ${url} -H 'content-type: application/json' -d '${body}'</pre>
<h2>What it serves</h2>
<ul>
<li>Tools: ${lists.tools.map((tool) => tool.wire.name).join(", ") || "none"}</li>
<li>Prompts: ${lists.prompts.map((prompt) => prompt.wire.name).join(", ") || "none"}</li>
<li>Protocol revisions 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28</li>
</ul>
<footer>${about.name} ${about.version}</footer>
</main>
</body>
</html>`.html;
  return new Response(page, {
    headers: { "content-type": "text/html; charset=utf-8", vary: "Accept", ...NO_STORE, ...SECURITY },
  });
}
