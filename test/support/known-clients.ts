// What clients that people use send to an authorization server: their documents and registrations as they were seen,
// redirect URIs, and what they ask with. `docs/login-people.md` shows it as a table.

type ClientDocument = Readonly<Record<string, unknown>>;

export interface KnownClient {
  readonly name: string;
  /** The document at its id, as its host answers it, but for the id; absent: it registers. */
  readonly document?: { readonly id: string; readonly document: ClientDocument };
  readonly registration?: ClientDocument;
  /** Where it is answered. */
  readonly redirect: string;
  /** In the order in which it writes them, beside those that all send. */
  readonly asks: Readonly<Record<string, string>>;
  /** How it writes the endpoint: `absent`, as the metadata has it (`same`), or with a slash at the end. */
  readonly resource: "same" | "slash" | "absent";
  /** When it refreshes. */
  readonly refreshResource: "same" | "absent";
  /** What else there is to know, for the table. */
  readonly note: string;
}

const CODE = ["authorization_code", "refresh_token"];
const FLOW = { grant_types: CODE, response_types: ["code"], token_endpoint_auth_method: "none" };
const OFFLINE = { scope: "offline_access", prompt: "consent" };

export const KNOWN_CLIENTS: readonly KnownClient[] = [
  {
    name: "Claude (web, desktop, mobile)",
    document: {
      id: "https://claude.ai/oauth/mcp-oauth-client-metadata",
      document: {
        client_name: "Claude",
        client_uri: "https://claude.ai",
        redirect_uris: ["https://claude.ai/api/mcp/auth_callback"],
        ...FLOW,
        grant_types: [...CODE, "urn:ietf:params:oauth:grant-type:jwt-bearer"],
      },
    },
    redirect: "https://claude.ai/api/mcp/auth_callback",
    asks: { scope: "offline_access" },
    resource: "same",
    refreshResource: "same",
    note: "reads only the first authorization server, and needs `pinned`",
  },
  {
    name: "Claude, if it registers",
    registration: { client_name: "Claude", redirect_uris: ["https://claude.ai/api/mcp/auth_callback"], ...FLOW },
    redirect: "https://claude.ai/api/mcp/auth_callback",
    asks: {},
    resource: "slash",
    refreshResource: "same",
    note: "registers for each connection if a server refuses documents or `none`",
  },
  {
    name: "Claude Code",
    document: {
      id: "https://claude.ai/oauth/claude-code-client-metadata",
      document: {
        client_name: "Claude Code",
        client_uri: "https://claude.ai",
        redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
        ...FLOW,
      },
    },
    redirect: "http://localhost:3118/callback",
    asks: OFFLINE,
    resource: "same",
    refreshResource: "same",
    note: "uses any port; requires that `resource` in the metadata matches the URL",
  },
  {
    name: "ChatGPT",
    document: {
      id: "https://chatgpt.com/oauth/client.json",
      document: {
        client_name: "ChatGPT",
        client_uri: "https://chatgpt.com/",
        redirect_uris: ["https://chatgpt.com/connector_platform_oauth_redirect"],
        ...FLOW,
        token_endpoint_auth_method: "private_key_jwt",
        token_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
        token_endpoint_auth_signing_alg: "RS256",
        jwks_uri: "https://chatgpt.com/oauth/jwks.json",
        logo_uri: "https://persistent.oaistatic.com/sonic/misc/openai-logo.png",
      },
    },
    redirect: "https://chatgpt.com/connector_platform_oauth_redirect",
    asks: { scope: "offline_access" },
    resource: "same",
    refreshResource: "same",
    note: "uses one id for all connections, but only if answers contain `iss`",
  },
  {
    name: "Codex",
    document: {
      id: "https://chatgpt.com/oauth/codex/client.json",
      document: {
        client_name: "Codex",
        redirect_uris: ["http://127.0.0.1/callback", "http://localhost/callback"],
        ...FLOW,
      },
    },
    redirect: "http://127.0.0.1:41239/callback",
    asks: {},
    resource: "same",
    refreshResource: "absent",
    note: "uses any port",
  },
  {
    name: "VS Code",
    document: {
      id: "https://vscode.dev/oauth/client-metadata.json",
      document: {
        client_name: "Visual Studio Code",
        client_uri: "https://vscode.dev/product",
        logo_uri: "https://code.visualstudio.com/assets/branding/code-stable.png",
        redirect_uris: ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
        ...FLOW,
        grant_types: [...CODE, "urn:ietf:params:oauth:grant-type:device_code"],
        application_type: "native",
      },
    },
    redirect: "http://127.0.0.1:50123/",
    asks: {},
    resource: "same",
    refreshResource: "same",
    note: "uses another port if 33418 is in use",
  },
  {
    name: "VS Code, if it registers",
    registration: {
      client_name: "Visual Studio Code",
      client_uri: "https://code.visualstudio.com",
      redirect_uris: [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
      ],
      ...FLOW,
      application_type: "native",
    },
    redirect: "https://vscode.dev/redirect",
    asks: {},
    resource: "same",
    refreshResource: "same",
    note: "registers if a server does not accept metadata documents",
  },
  {
    name: "Cursor",
    registration: {
      client_name: "Cursor",
      redirect_uris: [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "https://www.cursor.com/bot/mcp/oauth/callback",
        "http://localhost:8787/callback",
        "grokbot://mcp/oauth/callback",
      ],
      ...FLOW,
    },
    redirect: "http://localhost:8787/callback",
    asks: {},
    resource: "same",
    refreshResource: "same",
    note: "registers when a person adds the endpoint; fails if one of its URIs is refused",
  },
  {
    name: "Cursor, older",
    registration: {
      client_name: "Cursor",
      redirect_uris: ["cursor://anysphere.cursor-mcp/oauth/callback"],
      ...FLOW,
    },
    redirect: "cursor://anysphere.cursor-mcp/oauth/callback",
    asks: {},
    resource: "absent",
    refreshResource: "absent",
    note: "uses `cursor:`, the scheme of the app",
  },
  {
    name: "Gemini CLI",
    registration: {
      client_name: "Gemini CLI MCP Client",
      redirect_uris: ["http://localhost:7777/oauth/callback"],
      ...FLOW,
      scope: "",
    },
    redirect: "http://localhost:7777/oauth/callback",
    asks: {},
    resource: "same",
    refreshResource: "same",
    note: "refuses an answer without `iss`",
  },
  {
    name: "`mcp-remote`",
    registration: {
      client_name: "MCP CLI Proxy",
      client_uri: "https://github.com/modelcontextprotocol/mcp-cli",
      redirect_uris: ["http://localhost:3334/oauth/callback"],
      ...FLOW,
      software_id: "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d",
      software_version: "0.1.38",
      scope: "openid email profile",
    },
    redirect: "http://localhost:3334/oauth/callback",
    asks: { scope: "openid email profile" },
    resource: "same",
    refreshResource: "same",
    note: "asks for scopes that the tenant does not have",
  },
  {
    name: "Inspector",
    registration: {
      client_name: "MCP Inspector",
      client_uri: "https://github.com/modelcontextprotocol/inspector",
      redirect_uris: ["http://localhost:6274/oauth/callback", "http://localhost:6274/oauth/callback/debug"],
      ...FLOW,
      scope: "",
    },
    redirect: "http://localhost:6274/oauth/callback/debug",
    asks: OFFLINE,
    resource: "same",
    refreshResource: "same",
    note: "is a web page, and needs CORS to read the answers",
  },
];

/** The cells of a row of the table in `docs/login-people.md`. */
export function cellsOf({ name, document, redirect, resource, refreshResource, note }: KnownClient): readonly string[] {
  const sent = { same: "yes", slash: "with a slash at the end", absent: "no" }[resource];
  const again = refreshResource === "absent" && resource !== "absent" ? ", except in refresh requests" : "";
  return [name, document ? `\`${document.id}\`` : "registers", `\`${redirect}\``, sent + again, note];
}
