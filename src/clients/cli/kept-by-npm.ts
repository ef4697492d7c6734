// Owns that no option is lost on its way here: of `npm run tenantry tenant list --url URL`, without the two dashes, npm keeps `--url`
// for itself, and the command would go to another server. Refuses to guess what npm was meant to do with it.

import type { Command } from "commander";
import { usageError } from "./exit.ts";
import { commandIn } from "./named-command.ts";

/** npm's own, which it always says, or may have from elsewhere, such as `.npmrc` or `npx --yes`. */
const NPMS_OWN: readonly string[] = "all browser force key local package prefix quiet version yes".split(" ");
/** Of a company's packages, in `.npmrc`. */
const NPMS_SCOPE = /^@/;

export function refuseKeptByNpm(
  program: Command,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): void {
  if (env.npm_lifecycle_event !== "tenantry") return;
  const { command, words } = commandIn(program, args);
  const names = [...command.options, ...program.options].map(({ long }) => long?.replace(/^--(?:no-)?/, "") ?? "");
  const kept = names.find((name) => {
    const value = env[`npm_config_${name.replaceAll("-", "_")}`];
    return value !== undefined && !NPMS_OWN.includes(name) && !(name === "scope" && NPMS_SCOPE.test(value));
  });
  if (kept === undefined) return;
  const typed = ["npm run -s tenantry --", ...words, `--${kept}`].join(" ");
  throw usageError(`npm kept --${kept} for itself; two dashes are missing: ${typed}`);
}
