// Owns asking wrangler from a script: what it printed, its failures in one piece and without colours, and whether it may act for an account.
// Refuses to go on without an account: wrangler's own advice there, `--temporary`, is another account than the one that is meant.

import { execFile } from "node:child_process";
import { stripVTControlCharacters, promisify } from "node:util";

export const NOT_SIGNED_IN =
  "wrangler is not signed in to Cloudflare, and nothing was changed. npx wrangler login opens the browser; where there is " +
  "none, put a token into CLOUDFLARE_API_TOKEN. Then run this again.";

interface Failed {
  readonly code?: number | string | null;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly message: string;
}

/** What it printed. */
export async function askedWrangler(args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("wrangler", [...args], { maxBuffer: 2 ** 26 });
    return stdout;
  } catch (error) {
    throw new Error(saidBy(args, error as Failed), { cause: error });
  }
}

function saidBy(args: readonly string[], { code, stderr = "", message }: Failed): string {
  if (code === "ENOENT") return "wrangler could not be started: run npm ci first, and this through npm";
  const said = stripVTControlCharacters(stderr).trim();
  return `wrangler ${args.join(" ")} ended with ${code}:\n${said === "" ? message : said}`;
}

/** Says nothing of a token that may deploy, but not read who it is. */
export async function checkSignedIn(): Promise<void> {
  try {
    await promisify(execFile)("wrangler", ["whoami", "--json"]);
  } catch (error) {
    const { code, stdout = "" } = error as Failed;
    if (code === "ENOENT") throw new Error(saidBy([], error as Failed), { cause: error });
    if (/"loggedIn"\s*:\s*false/.test(stdout)) throw new Error(NOT_SIGNED_IN, { cause: error });
  }
}
