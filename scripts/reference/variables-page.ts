// docs/variables.md: each variable, secret and optional binding that the Worker reads. The names are found in the
// sources.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { table, wordsOf } from "./table.ts";

const ROOT = join(import.meta.dirname, "../..");
/** `npm start` and vitest set these. */
const INTERNAL = ["DEV_ADMIN_TOKEN", "NODE_ENV", "OUTBOUND_LOCAL", "VITEST_POOL_ID"];

const WORDS: Readonly<Record<string, readonly [kind: string, about: string]>> = {
  ADMIN_TOKEN: [
    "secret",
    "the first owner's token, 32 random characters or more: [operations.md](operations.md#set-it-up)",
  ],
  ALLOWED_ORIGINS: ["variable", "origins of web pages that may call all tenants, with commas between"],
  AUDIT_DAYS: ["variable", "how long audit entries are stored; default 400 days: [state.md](state.md)"],
  HOSTS: [
    "variable",
    "the host names that the Worker answers, with commas between; default: all: [domains.md](domains.md)",
  ],
  HUB_SHARDS: [
    "variable",
    "the number of objects for a tenant's streams; default 1: [limits.md](limits.md#fixed-limits)",
  ],
  MAX_BODY_BYTES: ["variable", "the largest body of a request; default: `bodyBytes` of the tenant, 4 MiB"],
  OBJECT_BYTES: ["variable", "the storage that a Durable Object may use; default 10 GB: [state.md](state.md)"],
  OPERATORS: ["variable", "operators of your authorization server: [operators.md](operators.md)"],
  OUTBOUND_ALLOW: [
    "variable",
    "names that requests may reach although they are not public: [outbound.md](outbound.md)",
  ],
  OUTBOUND_RESOLVER: ["variable", "the DNS server for outgoing requests: [outbound.md](outbound.md)"],
  RATE_LIMITS: ["binding", "shares three of the [limits of a minute](limits.md#limits-of-a-minute) in a location"],
  SECRETS_KEY: [
    "secret",
    "encrypts the secrets of tenants: [keys-and-profiles.md](keys-and-profiles.md#secrets-of-a-tenant)",
  ],
  TELEMETRY: ["binding", "a dataset of Analytics Engine, for request events: [telemetry.md](telemetry.md)"],
  TELEMETRY_SAMPLE: [
    "variable",
    "the share of successful requests with an event, 0 to 1: [telemetry.md](telemetry.md)",
  ],
  TENANT_HOST: ["variable", "`mcp.example.com` gives each tenant `ID.mcp.example.com`: [domains.md](domains.md)"],
};

const HEAD = `# Environment variables

A Worker reads these variables, secrets and bindings. It needs two secrets, and nothing else:

\`\`\`sh
npx wrangler secret put ADMIN_TOKEN
npx wrangler secret put SECRETS_KEY
\`\`\`

[operations.md](operations.md#set-it-up) shows how to make their values. On your machine, secrets are in \`.dev.vars\`. Variables are in \`[vars]\` of \`wrangler.toml\`.
\`npm run reference\` writes this page from the sources.
`;

const TAIL = `- Other web pages may call only from the visitor's own machine, and with \`connectPage()\` from the Worker's own https pages. \`allowedOrigins\` of a document allows an origin for one
  tenant.
- \`HOSTS\` has names without ports. Without it any name is answered, because Cloudflare routes only your names.
- Each of \`HUB_SHARDS\` takes 20,000 streams of a tenant.
- A secret \`TENANT__NAME\` is used if a tenant has no secret of that name: \`ACME__API_TOKEN\` for the secret \`API_TOKEN\` of \`acme\`.
- \`NODE_ENV\` is only for the build and \`wrangler dev\`: \`production\` refuses to start if a deployment would be refused.

Every Worker also needs the KV binding \`BODIES\` and a migration that names its classes: [api-start.md](api-start.md).

## Command line

| name               | meaning                                                        |
| ------------------ | -------------------------------------------------------------- |
| \`TENANTRY_URL\`     | the server                                                     |
| \`TENANTRY_TOKEN\`   | an operator's token                                            |
| \`TENANTRY_KEY\`     | a tenant's key, for \`tenantry call\`, \`listen\` and \`stdio\`      |

[operations.md](operations.md#which-server-a-command-reaches) says which one a command uses if you have several.
`;

const byName = (a: string, b: string) => (a < b ? -1 : 1);

/** The Worker's, sorted. */
export function settingNames(): readonly string[] {
  const sources = globSync("src/**/*.ts", { cwd: ROOT }).filter((file) => !file.startsWith("src/cli/"));
  const declared = sources.flatMap((file) =>
    [...readFileSync(join(ROOT, file), "utf8").matchAll(/\breadonly ([A-Z][A-Z_]+)\?:/g)].map(([, name = ""]) => name),
  );
  return [...new Set(declared)].filter((name) => !INTERNAL.includes(name)).toSorted(byName);
}

export function variablesPage(): string {
  const names = settingNames();
  const rows = wordsOf("variable", WORDS, names).map(([name, words]) => [`\`${name}\``, ...words]);
  return `${HEAD}\n${table(["name", "kind", "meaning"], rows)}\n\n${TAIL}`;
}
