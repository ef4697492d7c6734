// The order of the pages on the site. A page's heading is its name, unless TITLES has another.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

const GROUPS = {
  Start: ["README.md", "docs/not-for-you.md", "docs/api-start.md", "docs/compared.md", "docs/migrating.md"],
  "Connect clients": [
    "docs/clients.md",
    "docs/stdio.md",
    "docs/connect-page.md",
    "docs/streams.md",
    "docs/clients-tried.md",
  ],
  "Write tools": [
    "docs/api.md",
    "docs/api-tools.md",
    "docs/api-context.md",
    "docs/api-questions.md",
    "docs/api-resources.md",
    "docs/api-testing.md",
    "docs/api-outside.md",
    "docs/outbound.md",
    "docs/features.md",
    "docs/mounting.md",
  ],
  "Tenants and keys": ["docs/keys-and-profiles.md", "docs/api-tenants.md", "docs/admin-client.md"],
  Login: [
    "docs/login.md",
    "docs/login-people.md",
    "docs/login-product.md",
    "docs/login-identity.md",
    "docs/api-identity.md",
  ],
  "Other MCP servers": ["docs/gateway.md", "docs/gateway-calls.md", "docs/gateway-operate.md", "docs/gateway-stdio.md"],
  "Run it": [
    "docs/operations.md",
    "docs/versions.md",
    "docs/operators.md",
    "docs/domains.md",
    "docs/costs.md",
    "docs/usage.md",
    "docs/audit.md",
    "docs/webhooks.md",
    "docs/troubleshooting.md",
    "SECURITY.md",
  ],
  Reference: [
    "docs/document.md",
    "docs/commands.md",
    "docs/admin-api.md",
    "docs/errors.md",
    "docs/limits.md",
    "docs/api-options.md",
    "docs/api-types.md",
    "docs/variables.md",
    "docs/telemetry.md",
    "docs/metrics.md",
    "docs/words.md",
  ],
  Contribute: [
    "CONTRIBUTING.md",
    "AGENTS.md",
    "test/README.md",
    "docs/architecture.md",
    "docs/state.md",
    "docs/package.md",
    "CHANGELOG.md",
  ],
  Decisions: [
    "docs/decisions.md",
    ...readdirSync(join(ROOT, "docs/decisions"))
      .toSorted()
      .map((name) => `docs/decisions/${name}`),
  ],
};

const TITLES: Record<string, string> = {
  "README.md": "Overview",
  "AGENTS.md": "Rules and commands",
  "docs/package.md": "README of the npm package",
};

export const sidebar = Object.entries(GROUPS).map(([text, files]) => ({
  text,
  collapsed: text === "Decisions",
  items: files.map((file) => ({ text: TITLES[file] ?? headingOf(file), link: linkTo(file) })),
}));

function headingOf(file: string): string {
  const [, heading = file] = /^# (.+)$/m.exec(readFileSync(join(ROOT, file), "utf8")) ?? [];
  return heading.replaceAll("`", "");
}

function linkTo(file: string): string {
  return file === "README.md" ? "/" : `/${file.slice(0, -".md".length)}`;
}
