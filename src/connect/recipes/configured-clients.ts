// Recipes for clients that are configured by a file or a command. The member names are each client's own: a client
// silently ignores one that is nearly right.

import {
  bearerOf,
  headersMember,
  isLoopbackUrl,
  prettyJson,
  shellWord,
  type ClientEndpoint,
  type Recipe,
} from "./recipe.ts";

/** Every platform has it. */
declare function btoa(bytes: string): string;

const LOGIN_HINT = "It opens a browser, where you log in.";

/** Steps after the client knows the endpoint. */
function loginSteps({ access }: ClientEndpoint, login: string): string[] {
  return access.kind === "login" ? [login] : [];
}

/** `--header` takes all words behind it, so it comes last. */
const claudeCode: Recipe = {
  client: "claude-code",
  title: "Claude Code",
  snippet: (endpoint) => {
    const bearer = bearerOf(endpoint);
    const header = bearer === undefined ? [] : ["--header", `Authorization: ${bearer}`];
    return {
      language: "sh",
      text: ["claude", "mcp", "add", "--transport", "http", endpoint.name, endpoint.url, ...header]
        .map(shellWord)
        .join(" "),
      steps: [
        "Run it in the folder of your project; with --scope user it is there in all of them.",
        ...loginSteps(endpoint, `In Claude Code, /mcp and ${endpoint.name}: ${LOGIN_HINT}`),
      ],
    };
  },
};

const gemini: Recipe = {
  client: "gemini",
  title: "Gemini CLI",
  snippet: (endpoint) => ({
    language: "json",
    file: "~/.gemini/settings.json",
    text: prettyJson({ mcpServers: { [endpoint.name]: { httpUrl: endpoint.url, ...headersMember(endpoint) } } }),
    steps: [
      "Merge it into the file and start Gemini CLI again. A field url instead of httpUrl would select the old transport.",
      ...loginSteps(endpoint, `In Gemini CLI, /mcp auth ${endpoint.name}: ${LOGIN_HINT}`),
    ],
  }),
};

/**
 * Claude Desktop starts programs. The vendor's servers fetch its connectors, so these take no key and reach no local
 * address. The header has no space after its colon, because some versions split arguments at spaces.
 */
const claudeDesktop: Recipe = {
  client: "claude-desktop",
  title: "Claude Desktop",
  snippet: (endpoint) => {
    const { name, url } = endpoint;
    const bearer = bearerOf(endpoint);
    if (bearer === undefined && url.startsWith("https:")) {
      const steps = [
        "Settings, Connectors, Add custom connector: paste this URL. It works on the web and on phones, too.",
        ...loginSteps(endpoint, `Connect: ${LOGIN_HINT}`),
      ];
      return { language: "text", text: url, steps };
    }
    const args = ["-y", "mcp-remote", url];
    if (url.startsWith("http:") && !isLoopbackUrl(url)) args.push("--allow-http");
    if (bearer !== undefined) args.push("--header", "Authorization:${AUTH_HEADER}");
    const env = bearer === undefined ? {} : { env: { AUTH_HEADER: bearer } };
    return {
      language: "json",
      file: "claude_desktop_config.json",
      text: prettyJson({ mcpServers: { [name]: { command: "npx", args, ...env } } }),
      steps: [
        "Settings, Developer, Edit Config opens the file: merge it in, and start Claude Desktop again. It needs Node.",
        ...loginSteps(endpoint, LOGIN_HINT),
      ],
    };
  },
};

/** VS Code asks for the key once and stores it in the system's secret storage, so that the file can be shared. */
const vscode: Recipe = {
  client: "vscode",
  title: "VS Code",
  snippet: (endpoint) => {
    const { name, url, access } = endpoint;
    const id = `${name}-key`;
    const isKeyed = access.kind === "key";
    const server = { type: "http", url, ...(isKeyed && { headers: { Authorization: `Bearer \${input:${id}}` } }) };
    const inputs = [{ type: "promptString", id, description: `API key of ${name}`, password: true }];
    return {
      language: "json",
      file: ".vscode/mcp.json",
      text: prettyJson({ ...(isKeyed && { inputs }), servers: { [name]: server } }),
      steps: [
        "Merge it into the file and click Start above the server.",
        ...(isKeyed ? ["VS Code asks for the key, and keeps it out of the file."] : []),
        ...loginSteps(endpoint, LOGIN_HINT),
      ],
      ...(!isKeyed && { link: `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name, ...server }))}` }),
    };
  },
};

const cursor: Recipe = {
  client: "cursor",
  title: "Cursor",
  snippet: (endpoint) => {
    const { name, url } = endpoint;
    const server = { url, ...headersMember(endpoint) };
    const config = encodeURIComponent(btoa(JSON.stringify(server)));
    return {
      language: "json",
      file: "~/.cursor/mcp.json",
      text: prettyJson({ mcpServers: { [name]: server } }),
      steps: [
        "Merge it into the file, or into .cursor/mcp.json of one project, and switch the server on in Cursor's settings.",
        ...loginSteps(endpoint, `Click Connect there: ${LOGIN_HINT}`),
      ],
      link: `cursor://anysphere.cursor-deeplink/mcp/install?name=${name}&config=${config}`,
    };
  },
};

const windsurf: Recipe = {
  client: "windsurf",
  title: "Windsurf",
  snippet: (endpoint) => ({
    language: "json",
    file: "~/.codeium/windsurf/mcp_config.json",
    text: prettyJson({ mcpServers: { [endpoint.name]: { serverUrl: endpoint.url, ...headersMember(endpoint) } } }),
    steps: ["Merge it into the file and refresh the MCP servers in Cascade.", ...loginSteps(endpoint, LOGIN_HINT)],
  }),
};

const zed: Recipe = {
  client: "zed",
  title: "Zed",
  snippet: (endpoint) => ({
    language: "json",
    file: "~/.config/zed/settings.json",
    text: prettyJson({ context_servers: { [endpoint.name]: { url: endpoint.url, ...headersMember(endpoint) } } }),
    steps: ["Merge it into the file; zed: open settings file opens it.", ...loginSteps(endpoint, LOGIN_HINT)],
  }),
};

/** A JSON string is also valid TOML, and valid YAML in double quotes. */
const codex: Recipe = {
  client: "codex",
  title: "Codex",
  snippet: (endpoint) => {
    const bearer = bearerOf(endpoint);
    const lines = [`[mcp_servers.${endpoint.name}]`, `url = ${JSON.stringify(endpoint.url)}`];
    if (bearer !== undefined) lines.push(`http_headers = { Authorization = ${JSON.stringify(bearer)} }`);
    return {
      language: "toml",
      file: "~/.codex/config.toml",
      text: lines.join("\n"),
      steps: [
        "Add it to the file and start Codex again.",
        ...loginSteps(endpoint, `codex mcp login ${endpoint.name}: ${LOGIN_HINT}`),
      ],
    };
  },
};

const goose: Recipe = {
  client: "goose",
  title: "goose",
  snippet: (endpoint) => {
    const { name, url } = endpoint;
    const bearer = bearerOf(endpoint);
    const lines = [
      "extensions:",
      `  ${JSON.stringify(name)}:`,
      `    name: ${JSON.stringify(name)}`,
      "    enabled: true",
      "    type: streamable_http",
      `    uri: ${JSON.stringify(url)}`,
      "    timeout: 300",
    ];
    if (bearer !== undefined) lines.push("    headers:", `      Authorization: ${JSON.stringify(bearer)}`);
    return {
      language: "yaml",
      file: "~/.config/goose/config.yaml",
      text: lines.join("\n"),
      steps: ["Merge it into the file and begin a new session.", ...loginSteps(endpoint, LOGIN_HINT)],
    };
  },
};

export const CONFIGURED_CLIENTS: readonly Recipe[] = [
  claudeCode,
  claudeDesktop,
  vscode,
  cursor,
  windsurf,
  gemini,
  codex,
  goose,
  zed,
];
