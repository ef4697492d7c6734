// `tenantry completion`, and the hidden command that its scripts call.

import type { Command } from "commander";
import { Argument } from "commander";
import { createAdminApi } from "../admin/admin-client.ts";
import { completeWords, completionScript, SHELLS, type Shell } from "./shell-completion.ts";
import { findTarget } from "../config.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** A shell that waits longer for a server feels broken. */
const TIMEOUT_MS = 1000;
const MAX_NAMES = 200;
/** Matches tenant ids and upstream ids. */
const PLAIN_ID = /^[A-Za-z0-9_-]{1,40}$/;

export function addCompletionCommands(program: Command, terminal: Terminal): void {
  program
    .command("completion")
    .description("Print a completion script for a shell.")
    .addArgument(new Argument("<shell>").choices(SHELLS))
    .addHelpText(
      "after",
      `
Examples:
  eval "$(tenantry completion bash)"       in ~/.bashrc
  eval "$(tenantry completion zsh)"        in ~/.zshrc
  tenantry completion fish | source        in ~/.config/fish/config.fish`,
    )
    .action((shell: Shell) => {
      terminal.stdout.write(completionScript(shell));
    });

  program
    .command("__complete", { hidden: true })
    .argument("[words...]")
    .action(async (words: readonly string[]) => {
      const candidates = await completeWords(program, words, (kind, tenant) =>
        fetchNames(terminal, kind === "tenant" ? undefined : tenant),
      );
      for (const { word, about } of candidates) terminal.stdout.write(`${word}\t${about}\n`);
    });
}

async function fetchNames(terminal: Terminal, tenant: string | undefined): Promise<readonly string[]> {
  try {
    const target = await findTarget({}, terminal);
    const api = createAdminApi(target, AbortSignal.any([terminal.signal, AbortSignal.timeout(TIMEOUT_MS)]));
    const query = { limit: MAX_NAMES };
    const { items } = await (tenant === undefined
      ? api.request("GET /tenants", { query })
      : api.request("GET /tenants/{id}/upstreams", { params: { id: tenant }, query }));
    // A shell inserts completions unquoted, so only plain names are offered.
    return items.map(({ id }) => id).filter((id) => PLAIN_ID.test(id));
  } catch {
    return [];
  }
}
