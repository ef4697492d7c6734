// Help topics beyond single commands: first steps, the document, configuration, exit codes.

import { DEFAULT_URL } from "../config.ts";
import { EXIT } from "../exit.ts";

export const GETTING_STARTED = `
First steps, with the server of npm start:
  tenantry tenant create acme --title "Acme Inc." --search
  tenantry resource put acme ./handbook
  export TENANTRY_KEY=$(tenantry key create acme --name laptop)
  tenantry call acme
  tenantry call acme search query=holiday
  tenantry connect acme --client claude-code

Help:
  tenantry help COMMAND          what it does, with examples
  tenantry help document         what a tenant.yaml may say
  tenantry help configuration    which server, as whom
  tenantry help what-is-noted    usage, recorded calls, errors, webhooks, backups
  tenantry help local-clients    for programs that start their MCP servers
  tenantry help exit-codes       for scripts`;

export const TOPICS: Readonly<Record<string, string>> = {
  document: `A tenant's document says what the tenant is. apply -f takes it as YAML or JSON; every member but id may be left out.

  id: acme                       # which tenant; not part of the document itself
  region: weur                   # only when it is created; so is jurisdiction: eu
  extends: [standard]            # base documents, see tenantry help base; own members win, but for what a base binds
  title: Acme Inc.
  description: What Acme's own people work with.
  instructions: Ask before you delete anything.
  mode: key+oauth                # key: only with an API key (the default); open: everybody; oauth, key+oauth, mixed: auth
  maxStalenessMs: 5000           # how long a withdrawal may take to reach all of the world; above 10000 for operators only
  icon: https://acme.example/icon.png   # clients show it, and the page that people see in a browser
  allowedOrigins: ["https://app.acme.example"]
  hostnames: [mcp.acme.example]
  limits: { toolCalls: 600, dailyToolCalls: 10000, exact: true, keys: 50 }   # see tenantry limits acme
  settings: { currency: EUR }    # what everything in code reads as ctx.settings
  search: true                   # the built-in tools search and fetch
  tools:                         # by name or pattern; the most specific one decides
    "*": { enabled: false }
    "note_*": { enabled: true }
    note_write: { config: { maxLength: 2000 } }
  profiles:                      # /mcp/acme/public
    public:
      tools: { allow: ["note_*"], deny: [note_delete], rename: { note_list: { name: list } } }
      prompts: { deny: ["*"] }
      resources: { allow: ["file:///handbook/*"] }
      search: false              # search and fetch, in this profile
      title: For everybody       # and description and instructions, in the place of the tenant's
      resultBudget: { tokens: 20000 }   # what is longer is read in a second step
  scopes:                        # what a key with this scope may use
    read: { tools: [note_list, note_read], resources: ["*"] }
  auth:                          # in the modes oauth, key+oauth and mixed, and in no other: docs/login.md
    login: { via: key }          # people sign in, here by pasting a key; or via: oidc, oauth2, product: docs/login-people.md
    # tokens of your own authorization server
    issuers: [{ issuer: "https://login.example.com", scopes: { claim: groups, values: { Staff: [read] } }, claims: [email] }]
    anonymous: { scopes: [read] }   # in the mode mixed: what everybody sees
  prompts:
    review:
      arguments: [{ name: tone, required: true }]
      messages:
        - role: user
          content: { type: text, text: "Review this in a {{tone}} tone." }
  upstreams:                     # other MCP servers, offered as this tenant's own; see tenantry help upstream
    tracker:                     # its tool search is listed as tracker__search
      url: https://mcp.example.com/mcp
      headers: { Authorization: "Bearer {{secret:TRACKER_TOKEN}}" }   # set by tenantry secret set acme TRACKER_TOKEN
      era: auto                  # or "2025" or "2026", in quotes
      trust: review              # what it lists waits until it is approved; auto, the default, lists it at once
      timeoutMs: 30000           # how long a call may take
      retry: 2                   # how often more a read is sent that failed without an answer; 0 by default
      uris: ["file:///tracker/"] # what URIs begin with that are this upstream's
      enabled: true              # false takes it away at once
    wiki:
      url: https://wiki.example.com/mcp
      auth:                      # OAuth client credentials: a token goes with every request
        kind: client_credentials
        tokenUrl: https://login.example.com/oauth/token
        clientId: tenantry
        clientSecret: "{{secret:WIKI_SECRET}}"
        scope: wiki.read         # and method and resource, in docs/gateway.md
    billing: { service: BILLING, path: /mcp }   # a Worker beside this one
  upstreamBounds: { hosts: ["*.example.com"], most: 5 }   # what a tenant-admin may add; only operators set it
  authBounds: { hosts: ["*.idp.example.com"] }   # issuers that a tenant-admin may add to auth; only operators set it
  serviceBindings: [BILLING]     # Workers beside this one that its upstreams may name; only operators set it
  audit: { calls: redacted, redact: [ssn, card.number], wait: false, days: 30 }   # or digest, or off: docs/audit.md
  webhooks:                      # told what happens to the tenant: docs/webhooks.md
    ops: { url: https://ops.example.com/hooks, secret: "{{secret:HOOK}}", events: [upstream.down], enabled: true }
  deprecatedNameDays: 30             # how long a retired tool name stays callable

Patterns: * stands for any run of characters, ? for one.
Look before you leap: tenantry diff -f tenant.yaml`,

  configuration: `Which server, and as whom, in this order:

  1. --url and --token
  2. TENANTRY_URL and TENANTRY_TOKEN in the environment
  3. what tenantry login kept, in ~/.config/tenantry/config.json
  4. the server of an npm start of tenantry's own repository in this folder or one above, with its development token
  5. port under [dev] of wrangler.toml or .jsonc, else ${DEFAULT_URL}, with ADMIN_TOKEN of .dev.vars

A kept token goes only to the server it was kept for. API keys for tenantry call, watch and stdio: --key-file or --key,
else TENANTRY_KEY. Arguments such as --token and --key are seen by other programs of this machine; files, stdin and the
environment are not.

Examples:
  tenantry login --url https://mcp.example.com
  TENANTRY_TOKEN="$CI_TOKEN" tenantry apply -f tenant.yaml --url https://mcp.example.com`,

  "local-clients": `Claude Desktop, Cursor and others start an MCP server as a program and speak to its stdin and stdout. That program
is tenantry stdio. In claude_desktop_config.json or .cursor/mcp.json:

  {
    "mcpServers": {
      "acme": {
        "command": "npx",
        "args": ["-y", "tenantry", "stdio", "acme", "--url", "https://mcp.example.com"],
        "env": { "TENANTRY_KEY": "tnt_..." }
      }
    }
  }

In .vscode/mcp.json the outer member is "servers". The key may be in a file too: "--key-file", "PATH" in "args". As "--key",
"tnt_..." other programs of this machine can read it.

Without a server, "args": ["-y", "tenantry", "stdio", "--local", "--project", "PATH"] runs the Worker in PATH for as long as
the client runs. Its data is kept in PATH/.tenantry, for one client at a time; --state names another folder.

A client shows what goes wrong in its log of the server's stderr. To see it yourself:

  echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | tenantry stdio acme --url https://mcp.example.com`,

  "what-is-noted": `What a Worker notes of its tenants, where it has the feature, and where that is written down:

  tenantry usage --tenant acme       what was called how often: usage(), docs/usage.md
  tenantry calls show acme           who called what: callAudit() and audit in the document, docs/audit.md
  tenantry errors ID                   the error that a client was told by this id: telemetry(), docs/telemetry.md
  tenantry metrics                  what one isolate has counted: telemetry(), docs/telemetry.md
  tenantry webhook list acme         who is told what happens: webhooks(), docs/webhooks.md
  tenantry audit acme                what operators did; every tenant has it
  tenantry backup acme               the tenant into a folder; tenantry restore brings it back: docs/operations.md`,

  "exit-codes": `Exit codes:

  ${EXIT.ok}    done
  ${EXIT.refused}    the server refused, or a called tool reports an error
  ${EXIT.usage}    the command line or a file on this machine is wrong; nothing was sent
  ${EXIT.notFound}    there is no such tenant, resource, key, ...
  ${EXIT.notAuthorised}    no token, a wrong token, or one without this right
  ${EXIT.conflict}    it exists already, or somebody else changed it meanwhile
  ${EXIT.unreachable}    the server cannot be reached
  ${EXIT.differs}    diff --exit-code found a difference
  ${EXIT.interrupted}  interrupted by Ctrl+C or SIGTERM

Errors are one line on stderr. Results are on stdout: a table, or JSON with --json.`,
};
