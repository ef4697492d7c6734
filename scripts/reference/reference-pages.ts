// Which pages are made from the sources, and by what, and their form, which is the formatter's.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { adminApiPage } from "./admin-api-page.ts";
import { commandsPage } from "./commands-page.ts";
import { decisionsPage } from "./decisions-page.ts";
import { documentPage } from "./document-page.ts";
import { errorsPage } from "./errors-page.ts";
import { limitsPage } from "./limits-page.ts";
import { metricsPage } from "./metrics-page.ts";
import { optionsPage } from "./options-page.ts";
import { variablesPage } from "./variables-page.ts";

export const REFERENCE_PAGES: Readonly<Record<string, () => string>> = {
  "docs/admin-api.md": adminApiPage,
  "docs/api-options.md": optionsPage,
  "docs/commands.md": commandsPage,
  "docs/decisions.md": decisionsPage,
  "docs/document.md": documentPage,
  "docs/errors.md": errorsPage,
  "docs/limits.md": limitsPage,
  "docs/metrics.md": metricsPage,
  "docs/variables.md": variablesPage,
};

const ROOT = join(import.meta.dirname, "../..");

export function laidOut(page: string, text: string): string {
  const oxfmt = join(ROOT, "node_modules/oxfmt/bin/oxfmt");
  const args = [oxfmt, `--stdin-filepath=${page}`];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: ROOT, input: text, encoding: "utf8" });
  if (status !== 0) throw new Error(`${page}: ${stderr}`);
  return stdout;
}
