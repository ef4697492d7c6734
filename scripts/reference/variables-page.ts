// docs/variables.md: each variable, secret and optional binding that the Worker reads, found where the sources declare
// it.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { table, wordsOf } from "./table.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Those that `npm start` and vitest set by themselves. */
const NOBODYS = ["DEV_ADMIN_TOKEN", "NODE_ENV", "OUTBOUND_LOCAL", "VITEST_POOL_ID"];

const WORDS: Readonly<Record<string, readonly [kind: string, about: string]>> = {
  ADMIN_TOKEN: [
    "secret",
    "the first owner's token, 32 characters or more that nobody can guess: [operations.md](operations.md#set-it-up)",
  ],
  ALLOWED_ORIGINS: [
    "variable",
    "origins whose web pages may call all tenants, with commas between; no other page may, but of the visitor's own machine and, with `connectPage()`, by https the Worker's own. `allowedOrigins` of a document is for one tenant",
  ],
  AUDIT_DAYS: ["variable", "how long audit entries are kept, 400 days when unset: [state.md](state.md)"],
  HOSTS: [
    "variable",
    "the host names that are answered, without ports, with commas between; unset: any, because Cloudflare routes only yours: [domains.md](domains.md)",
  ],
  HUB_SHARDS: [
    "variable",
    "how many objects share a tenant's notification streams, 1 when unset; one takes 20,000: [limits.md](limits.md)",
  ],
  MAX_BODY_BYTES: [
    "variable",
    "the most that a request's body may have; when unset, `bodyBytes` of the tenant says it, 4 MiB where nothing else does",
  ],
  OBJECT_BYTES: ["variable", "how much a Durable Object may store, 10 GB when unset: [state.md](state.md)"],
  OPERATORS: ["variable", "who else calls the admin API, by an authorization server: [operators.md](operators.md)"],
  OUTBOUND_ALLOW: ["variable", "names that requests may go to though they are not public: [outbound.md](outbound.md)"],
  OUTBOUND_RESOLVER: ["variable", "who is asked what a name stands for: [outbound.md](outbound.md)"],
  RATE_LIMITS: ["binding", "lets the isolates of a location share their limits: [limits.md](limits.md)"],
  SECRETS_KEY: [
    "secret",
    "seals what tenants keep secret: [keys-and-profiles.md](keys-and-profiles.md#secrets-of-a-tenant)",
  ],
  TELEMETRY: [
    "binding",
    "a dataset of Workers Analytics Engine, for an event of each request: [telemetry.md](telemetry.md)",
  ],
  TELEMETRY_SAMPLE: [
    "variable",
    "which part of the requests that went well is told of, from 0 to 1: [telemetry.md](telemetry.md)",
  ],
  TENANT_HOST: [
    "variable",
    "`mcp.example.com`, whose subdomains are routed to the Worker, gives each tenant `ID.mcp.example.com`: [domains.md](domains.md)",
  ],
};

const HEAD = `# Environment variables

Nothing has to be set but two secrets, \`ADMIN_TOKEN\` and \`SECRETS_KEY\`: [operations.md](operations.md#set-it-up). What can be: variables stand under \`[vars]\` in \`wrangler.toml\`, secrets
are set by \`npx wrangler secret put NAME\`, on your machine in \`.dev.vars\`. Written by \`npm run reference\`, from the sources.
`;

const TAIL = `\`TENANT__NAME\`, a secret, stands in where a tenant has no secret of that name: \`ACME__API_TOKEN\` for the secret \`API_TOKEN\` of the tenant
\`acme\`. \`NODE_ENV\` is of the build and of \`wrangler dev\` alone: \`production\` refuses what a deployment would be refused for.

What every Worker needs beside it is in [api-start.md](api-start.md): the KV binding \`BODIES\`, and a migration that names its classes.

## Of the command line

| name             | what it is                                                     |
| ---------------- | -------------------------------------------------------------- |
| \`TENANTRY_URL\`   | which server                                                   |
| \`TENANTRY_TOKEN\` | an operator's token                                            |
| \`TENANTRY_KEY\`   | a tenant's key, for \`tenantry call\`, \`watch\` and \`stdio\`       |

\`tenantry help configuration\` says what goes before what.
`;

const byName = (a: string, b: string) => (a < b ? -1 : 1);

/** Of the Worker, in the order of the alphabet. */
export function settingNames(): readonly string[] {
  const sources = globSync("src/**/*.ts", { cwd: ROOT }).filter((file) => !file.startsWith("src/cli/"));
  const declared = sources.flatMap((file) =>
    [...readFileSync(join(ROOT, file), "utf8").matchAll(/\breadonly ([A-Z][A-Z_]+)\?:/g)].map(([, name = ""]) => name),
  );
  return [...new Set(declared)].filter((name) => !NOBODYS.includes(name)).toSorted(byName);
}

export function variablesPage(): string {
  const names = settingNames();
  const rows = wordsOf("variable", WORDS, names).map(([name, words]) => [`\`${name}\``, ...words]);
  return `${HEAD}\n${table(["name", "kind", "what it is"], rows)}\n\n${TAIL}`;
}
