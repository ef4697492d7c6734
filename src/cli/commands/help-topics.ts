// Help topics beyond single commands: first steps, the document, configuration, exit codes.

import { DEFAULT_URL } from "../config.ts";
import { EXIT } from "../exit.ts";

export const GETTING_STARTED = `
First steps, with the server of npm start:
  tenantry tenant create acme --title "Acme Inc." --search
  echo "Closed in August." > holiday.md
  tenantry resource put acme holiday.md
  export TENANTRY_KEY=$(tenantry key create acme --name laptop)
  tenantry call acme
  tenantry call acme search query=august
  tenantry connect acme --client claude-code

Help:
  tenantry help COMMAND          what it does, with examples
  tenantry help document         the fields of a tenant.yaml
  tenantry help configuration    the server and the token of a command
  tenantry help records          usage, recorded calls, errors, webhooks, backups
  tenantry help local-clients    for programs that start their MCP servers
  tenantry help exit-codes       for scripts`;

export const TOPICS: Readonly<Record<string, string>> = {
  document: `A tenant's document configures the tenant. apply -f takes it as YAML or JSON; every field but id is optional.

  id: acme                       # the tenant; not a part of the document
  region: weur                   # only for a new tenant; jurisdiction: eu too
  extends: [standard]            # base documents (tenantry help base); own fields win, unless a base binds them
  title: Acme Inc.
  description: What Acme's own people work with.
  instructions: Ask before you delete anything.
  mode: key+oauth                # key: API keys only (default); open: everybody; oauth, key+oauth, mixed: see auth
  maxStalenessMs: 5000           # ms until a revocation is in effect everywhere; over 10000: operators only
  icon: https://acme.example/icon.png   # for clients, and the page in a browser
  allowedOrigins: ["https://app.acme.example"]
  hostnames: [mcp.acme.example]
  limits: { toolCalls: 600, dailyToolCalls: 10000, exact: true, keys: 50 }   # see tenantry limits acme
  settings: { currency: EUR }    # ctx.settings of everything in code
  search: true                   # the built-in tools search and fetch
  tools:                         # by name or pattern; the most specific one applies
    "*": { enabled: false }
    "note_*": { enabled: true }
    note_write: { config: { maxLength: 2000 } }
  profiles:                      # /mcp/acme/public
    public:
      tools: { allow: ["note_*"], deny: [note_delete], rename: { note_list: { name: list } } }
      prompts: { deny: ["*"] }
      resources: { allow: ["file:///handbook/*"] }
      search: false              # search and fetch, in this profile
      title: For everybody       # replaces the tenant's; so do description, instructions
      resultBudget: { tokens: 20000 }   # longer results are read in a second step
  scopes:                        # the view of a key with this scope
    read: { tools: [note_list, note_read], resources: ["*"] }
  auth:                          # only in the modes oauth, key+oauth and mixed: docs/login.md
    login: { via: key }          # people sign in, here by pasting a key; or via: oidc, oauth2, product: docs/login-people.md
    # tokens of your own authorization server
    issuers: [{ issuer: "https://login.example.com", scopes: { claim: groups, values: { Staff: [read] } }, claims: [email] }]
    anonymous: { scopes: [read] }   # in the mode mixed: the view of callers without a token
  prompts:
    review:
      arguments: [{ name: tone, required: true }]
      messages:
        - role: user
          content: { type: text, text: "Review this in a {{tone}} tone." }
  upstreams:                     # other MCP servers in this tenant; see tenantry help upstream
    tracker:                     # its tool search is listed as tracker__search
      url: https://mcp.example.com/mcp
      headers: { Authorization: "Bearer {{secret:TRACKER_TOKEN}}" }   # set by tenantry secret set acme TRACKER_TOKEN
      era: auto                  # or "2025" or "2026", in quotes
      trust: review              # its tools wait for approval; auto, the default, lists them at once
      timeoutMs: 30000           # the longest time of a call
      retry: 2                   # how many times a read is repeated if it gets no answer
      uris: ["file:///tracker/"] # prefixes of its URIs
      enabled: true              # false switches it off at once
    wiki:
      url: https://wiki.example.com/mcp
      auth:                      # OAuth client credentials: every request has the token
        kind: client_credentials
        tokenUrl: https://login.example.com/oauth/token
        clientId: tenantry
        clientSecret: "{{secret:WIKI_SECRET}}"
        scope: wiki.read         # also method, resource: docs/gateway.md
    billing: { service: BILLING, path: /mcp }   # a Worker of your account
  upstreamBounds: { hosts: ["*.example.com"], most: 5 }   # upstreams that a tenant-admin may add; operators only
  authBounds: { hosts: ["*.idp.example.com"] }   # issuers that a tenant-admin may set; operators only
  serviceBindings: [BILLING]     # Workers that upstreams may name; operators only
  audit: { calls: redacted, redact: [ssn, card.number], wait: false, days: 30 }   # or digest, or off: docs/audit.md
  webhooks:                      # messages about the tenant: docs/webhooks.md
    ops: { url: https://ops.example.com/hooks, secret: "{{secret:HOOK}}", events: [upstream.down], enabled: true }
  deprecatedNameDays: 30             # how long a replaced tool name can be called

Patterns: * stands for any characters, ? for one.
See what would change: tenantry diff -f tenant.yaml`,

  configuration: `The server and the token of a command are the first of:

  1. --url and --token
  2. TENANTRY_URL and TENANTRY_TOKEN in the environment
  3. the last tenantry login, in ~/.config/tenantry/config.json
  4. a running npm start of a tenantry checkout in this folder or above, with its development token
  5. port under [dev] of wrangler.toml or .jsonc, else ${DEFAULT_URL}, with ADMIN_TOKEN of .dev.vars

A stored token goes only to the server of its login. tenantry call, listen and stdio take an API key: --key-file or --key,
else TENANTRY_KEY. Other programs of this machine can read arguments such as --token and --key. They cannot read files,
stdin and the environment.

Examples:
  tenantry login --url https://mcp.example.com
  TENANTRY_TOKEN="$CI_TOKEN" tenantry apply -f tenant.yaml --url https://mcp.example.com`,

  "local-clients": `Claude Desktop, Cursor and others start an MCP server as a program and speak to its stdin and stdout. That program
is tenantry stdio. In claude_desktop_config.json or .cursor/mcp.json:

  {
    "mcpServers": {
      "acme": {
        "command": "node",
        "args": ["/PATH/TO/CHECKOUT/src/cli/main.ts", "stdio", "acme", "--url", "https://mcp.example.com"],
        "env": { "TENANTRY_KEY": "tnt_..." }
      }
    }
  }

This runs the command line of a checkout, with Node 22.18 or newer. In a project of tenantry init, "command" is
"/PATH/TO/PROJECT/node_modules/.bin/tenantry", and "args" begin with "stdio".

In .vscode/mcp.json the outer field is "servers". The key can also be in a file: "--key-file", "PATH" in "args". Do not use
"--key", because other programs on this machine can read it.

Without a server, "stdio", "--local", "--project", "PATH" in "args" runs the Worker in PATH for as long as the client runs. Its
data is stored in PATH/.tenantry, for one client at a time; --state names another folder.

A client shows errors in its log of the server's stderr. To see them yourself:

  echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | tenantry stdio acme --url https://mcp.example.com`,

  records: `What a Worker records of its tenants, the feature that records it, and the page:

  tenantry usage --tenant acme       how often tools were called: usage(), docs/usage.md
  tenantry calls show acme           who called which tool: callAudit() and audit in the document, docs/audit.md
  tenantry errors ID                 the error with the id that a client shows: telemetry(), docs/telemetry.md
  tenantry metrics                   the counters of one isolate: telemetry(), docs/telemetry.md
  tenantry webhook list acme         webhooks: webhooks(), docs/webhooks.md
  tenantry audit acme                changes by operators; every tenant has it
  tenantry backup acme               writes the tenant to a folder for tenantry restore: docs/operations.md`,

  "exit-codes": `Exit codes:

  ${EXIT.ok}    done
  ${EXIT.refused}    the server refused, or a called tool reports an error
  ${EXIT.usage}    the command line or a file on this machine is wrong; nothing was sent
  ${EXIT.notFound}    there is no such tenant, resource, key, ...
  ${EXIT.notAuthorised}    no token, a wrong token, or a role that may not do this
  ${EXIT.conflict}    it exists already, or changed since it was read
  ${EXIT.unreachable}    the server cannot be reached
  ${EXIT.differs}    diff --exit-code found a difference
  ${EXIT.interrupted}  interrupted by Ctrl+C or SIGTERM

Errors are one line on stderr. Results are on stdout: a table, or JSON with --json.`,
};
