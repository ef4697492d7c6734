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
    'the token of the first owner, at least 32 random characters; see "[Running it](operations.md#set-it-up)"',
  ],
  ALLOWED_ORIGINS: ["variable", "origins of web pages that may call all tenants, separated by commas"],
  AUDIT_DAYS: [
    "variable",
    'the number of days for which audit entries are stored; default 400; see "[What is stored](state.md)"',
  ],
  HOSTS: [
    "variable",
    "the hostnames that the Worker serves, separated by commas; default: all; see [Your own domains](domains.md)",
  ],
  HUB_SHARDS: [
    "variable",
    "the number of objects for a tenant's streams; default 1; see [Limits](limits.md#fixed-limits)",
  ],
  MAX_BODY_BYTES: [
    "variable",
    "the largest body of a request, at most 8 MiB; default: `bodyBytes` of the tenant, 4 MiB",
  ],
  OBJECT_BYTES: [
    "variable",
    'the storage that a Durable Object may use; default 10 GB; see "[What is stored](state.md)"',
  ],
  OPERATORS: ["variable", "the authorization server at which operators sign in; see [Operators](operators.md)"],
  OUTBOUND_ALLOW: [
    "variable",
    'host names that are not public, but that requests may reach; see "[Fetch URLs safely](outbound.md)"',
  ],
  OUTBOUND_RESOLVER: ["variable", 'the DNS server for outgoing requests; see "[Fetch URLs safely](outbound.md)"'],
  RATE_LIMITS: [
    "binding",
    "lets the isolates in a location share their counts for three limits per minute; see [Limits](limits.md#limits-of-a-minute)",
  ],
  SECRETS_KEY: [
    "secret",
    "encrypts the secrets of tenants; see [Keys and profiles](keys-and-profiles.md#secrets-of-a-tenant)",
  ],
  TELEMETRY: ["binding", "a dataset of Analytics Engine for request events; see [Telemetry](telemetry.md)"],
  TELEMETRY_SAMPLE: [
    "variable",
    "the share of successful requests for which an event is written, 0 to 1; see [Telemetry](telemetry.md)",
  ],
  TENANT_HOST: [
    "variable",
    "a domain; each tenant then has the hostname `ID.DOMAIN`; see [Your own domains](domains.md)",
  ],
};

const HEAD = `# Environment variables

This page lists the variables, secrets and bindings that a Worker reads. A Worker needs only these two secrets:

\`\`\`sh
npx wrangler secret put ADMIN_TOKEN
npx wrangler secret put SECRETS_KEY
\`\`\`

To make their values, see "[Running it](operations.md#set-it-up)". On your machine, secrets are in \`.dev.vars\`. Variables are in \`[vars]\` of \`wrangler.toml\`.
\`npm run reference\` writes this page from the sources.
`;

const TAIL = `- A web page can call the Worker if its origin is in \`ALLOWED_ORIGINS\`. Two other kinds of pages can also call it. One is a page on the visitor's own machine. The other is an https page of the Worker itself, if the Worker has \`connectPage()\`.
- To allow an origin for one tenant only, set \`allowedOrigins\` in the tenant's document.
- \`HOSTS\` has names without ports. Without \`HOSTS\`, the Worker serves every hostname. Cloudflare sends it only requests for your own hostnames.
- One object can have 20,000 streams of a tenant. For more streams, set \`HUB_SHARDS\` to a larger number.
- If a tenant does not have the secret \`NAME\`, tenantry uses the Worker secret \`TENANT__NAME\`. For the secret \`API_TOKEN\` of \`acme\`, this is \`ACME__API_TOKEN\`.
- \`NODE_ENV\` has an effect only on the build and on \`wrangler dev\`. With \`NODE_ENV=production\`, \`wrangler dev\` does not start if Cloudflare would refuse the deployment.

Every Worker also needs the KV binding \`BODIES\`, and a migration that names its classes. See "[From an empty folder to your first call](api-start.md)".

## Command line

| name               | meaning                                                        |
| ------------------ | -------------------------------------------------------------- |
| \`TENANTRY_URL\`     | the URL of the server                                          |
| \`TENANTRY_TOKEN\`   | an operator's token                                            |
| \`TENANTRY_KEY\`     | a tenant's key, for \`tenantry call\`, \`listen\` and \`stdio\`      |

If you have several servers, see "[Running it](operations.md#which-server-a-command-reaches)" to find out which server a command uses.
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
