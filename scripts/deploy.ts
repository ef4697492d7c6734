// `npm run deploy`: checks, builds and deploys the Worker, and asks it whether it is ready; says what to do where it is not.
// `--env NAME`: that environment; `--url URL`: where it is asked, where wrangler names no address; `--no-check`: without the checks;
// `--dry-run`: checks and builds alone, which needs no account.

import { spawn } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { checkSignedIn } from "./asked-wrangler.ts";
import { scriptOptions } from "./script-options.ts";
import { environments, namespaceId, readConfig, workerName } from "./worker-config.ts";

/** A deployment is everywhere within about this time. */
const READY_WITHIN_MS = Number(process.env["READY_WITHIN_MS"] ?? 60_000);
const LOOK_EVERY_MS = 2000;

const HELP = `npm run deploy -- [--env NAME] [--dry-run] [--no-check] [--url URL]

Checks, builds and deploys the Worker, and asks it whether it is ready.

  --env NAME   the environment NAME of wrangler.toml; else the Worker without a name
  --dry-run    check and build, and deploy nothing; needs no account
  --no-check   without format, lint and types
  --url URL    where the Worker answers, where that is not on workers.dev

docs/operations.md has rolling out, and back.`;

const options = scriptOptions(
  "deploy",
  {
    env: { type: "string" },
    url: { type: "string" },
    check: { type: "boolean", default: true },
    "dry-run": { type: "boolean", default: false },
  },
  HELP,
);
const { env } = options;
const ofEnv = env === undefined ? [] : ["--env", env];
const named = ofEnv.length === 0 ? "" : ` ${ofEnv.join(" ")}`;

/** Shows what the program says as it says it, and gives it. */
async function shown(program: string, args: readonly string[], after: string): Promise<string> {
  const child = spawn(program, [...args], { stdio: ["inherit", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
    process.stdout.write(chunk);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  if (code === 0) return said;
  throw new Error(`${program} ${args.join(" ")} ${code === null ? "was stopped" : `ended with ${code}`}: ${after}`);
}

async function readiness(url: string): Promise<string> {
  try {
    const response = await fetch(new URL("/readyz", url), { signal: AbortSignal.timeout(10_000) });
    return response.ok ? "ready" : `${response.status} ${(await response.text()).slice(0, 500)}`;
  } catch (error) {
    return String(error);
  }
}

/** Refuses, before anything is done, what would come out after the deployment alone. */
async function checked(): Promise<string> {
  if (options.url !== undefined && !URL.canParse(options.url)) throw new Error(`--url ${options.url}: is no URL`);
  const toml = await readConfig();
  const others = environments(toml).filter((one) => one !== env);
  const there = others.length === 0 ? "" : ` (wrangler.toml also has --env ${others.join(", --env ")})`;
  if (!options["dry-run"]) {
    if (namespaceId(toml, env) === undefined) {
      throw new Error(
        `wrangler.toml names no KV namespace: npm run setup${env === undefined ? "" : ` --${named}`}${there}`,
      );
    }
    await checkSignedIn();
  }
  return `${workerName(toml, env)}${there}`;
}

async function main(): Promise<void> {
  console.log(`To be deployed: ${await checked()}`);
  if (options.check) await shown("npm", ["run", "check"], "nothing was deployed. --no-check leaves it out");
  if (options["dry-run"]) {
    await shown("wrangler", ["deploy", "--dry-run", ...ofEnv], "a deployment would end alike");
    return console.log("Nothing was deployed: --dry-run. Without it: npm run deploy" + (named && ` --${named}`));
  }
  const after = `its words are above. npx wrangler deployments list${named} says what is deployed now`;
  const said = await shown("wrangler", ["deploy", ...ofEnv], after);
  const url = options.url ?? /https:\/\/[^\s)]+\.workers\.dev/.exec(said)?.[0];
  if (url === undefined) return console.log("Deployed. Ask it yourself: curl https://YOUR-HOST/readyz, or give --url");
  const until = Date.now() + READY_WITHIN_MS;
  let last = await readiness(url);
  while (last !== "ready" && Date.now() < until) {
    await wait(LOOK_EVERY_MS);
    last = await readiness(url);
  }
  if (last === "ready")
    return console.log(`Ready: ${url}\nThe first time, sign in: npm run -s tenantry -- login --url ${url}`);
  throw new Error(
    `${url}/readyz says: ${last}
Why: npx wrangler tail${named}, while you ask again
Back to the release before: npx wrangler rollback${named}
What a rollback keeps, and what to do when: docs/operations.md`,
  );
}

try {
  await main();
} catch (error) {
  console.error(`deploy: ${(error as Error).message}`);
  process.exitCode = 1;
}
