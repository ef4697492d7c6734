// `npm run setup`: makes what a deployment needs and the account does not have, by wrangler's own commands: the KV namespace, with its
// id in wrangler.toml, and the secrets. Says what it will do first; `--dry-run` stops there. What is there is left as it is, so it may
// be run again, and after it was cut off. `--env NAME`: for that environment, which it adds to wrangler.toml.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { access, constants, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { askedWrangler, checkSignedIn } from "./asked-wrangler.ts";
import { scriptOptions } from "./script-options.ts";
import * as config from "./worker-config.ts";

const { FILE } = config;
/** Where a secret is written before the account has it. Git does not see this folder. */
const KEPT = ".wrangler/secrets";
const SECRETS: Readonly<Record<string, string>> = {
  ADMIN_TOKEN: "the first owner's token: tenantry login takes it",
  SECRETS_KEY: "seals tenants' secrets: without it nobody opens them again",
};

const HELP = `npm run setup -- [--dry-run] [--env NAME]

Makes what a deployment needs and the account does not have: the KV namespace, its id in ${FILE}, and the secrets.
What is there is left as it is.

  --dry-run    say what is missing, and make nothing
  --env NAME   for the environment NAME, such as staging; ${FILE} gets it where it has none

docs/operations.md begins with it.`;

const options = scriptOptions(
  "setup",
  { "dry-run": { type: "boolean", default: false }, env: { type: "string" } },
  HELP,
);
const env = options.env;
const ofEnv = env === undefined ? [] : ["--env", env];

/** A step that is still to be done. */
interface Step {
  readonly what: string;
  run(): Promise<void>;
}

/** What wrangler prints beside JSON is not ours to judge. */
async function listed(args: readonly string[]): Promise<unknown> {
  const said = await askedWrangler(args);
  try {
    return JSON.parse(said.slice(said.search(/^\[/m)));
  } catch (error) {
    throw new Error(`wrangler ${args.join(" ")} printed no list:\n${said}`, { cause: error });
  }
}

/** Names alone: nobody can read values. */
async function secretNames(): Promise<readonly string[]> {
  try {
    const secrets = (await listed(["secret", "list", "--format", "json", ...ofEnv])) as { name: string }[];
    return secrets.map(({ name }) => name);
  } catch (error) {
    // Before its first deployment there is no Worker to have any.
    if (/10007|does not exist|not found/i.test(String(error))) return [];
    throw error;
  }
}

async function put(name: string): Promise<void> {
  const value = await keptValue(name);
  const child = spawn("wrangler", ["secret", "put", name, ...ofEnv], { stdio: ["pipe", "inherit", "inherit"] });
  child.stdin.end(value);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("exit", resolve);
  });
  if (code === 0) return;
  const again = `it is kept in ${keptFile(name)}, and run again this puts the same`;
  throw new Error(`wrangler secret put ${name} ${code === null ? "was stopped" : `ended with ${code}`}: ${again}`);
}

function keptFile(name: string): string {
  return join(KEPT, env === undefined ? name : `${name}.${env}`);
}

/** Written first, so that no value is lost where this is cut off: the next run puts the same. */
async function keptValue(name: string): Promise<string> {
  const file = keptFile(name);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, randomBytes(32).toString("base64url"), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFile(file, "utf8");
}

/** In one piece: cut off, it is the file that there was. */
async function change(by: (toml: string) => string): Promise<void> {
  const draft = `${FILE}.${process.pid}`;
  await writeFile(draft, by(await config.readConfig()));
  await rename(draft, FILE);
}

async function namespace(title: string): Promise<string> {
  const all = (await listed(["kv", "namespace", "list"])) as { id: string; title: string }[];
  const found = all.find((one) => one.title === title);
  if (found) return found.id;
  const said = await askedWrangler(["kv", "namespace", "create", title]);
  const id = /\b[0-9a-f]{32}\b/.exec(said)?.[0];
  if (id === undefined) throw new Error(`wrangler kv namespace create ${title} said no id:\n${said}`);
  return id;
}

/** Of the file alone, which is read before anything is made. */
function missingInFile(toml: string): Step[] {
  const steps: Step[] = [];
  if (!config.isObserved(toml)) {
    steps.push({ what: `${FILE}: [observability] enabled = true`, run: () => change(config.withObservability) });
  }
  if (env !== undefined && !config.hasEnvironment(toml, env)) {
    const run = () => change((before) => config.withEnvironment(before, env));
    const left = config.notCopied(toml).join(" ");
    const own = left === "" ? "" : `. Without ${left}: write there what it is to have of these`;
    steps.push({ what: `${FILE}: [env.${env}], with the KV namespace and the objects of the Worker${own}`, run });
  }
  if (config.namespaceId(toml, env) === undefined) {
    const title = config.namespaceTitle(toml, env);
    const run = async () => {
      const id = await namespace(title);
      await change((before) => config.withNamespaceId(before, id, env));
    };
    steps.push({ what: `KV namespace ${title}, unless the account has it, and its id in ${FILE}`, run });
  }
  return steps;
}

async function missing(toml: string): Promise<Step[]> {
  const isThere = config.hasEnvironment(toml, env);
  const steps = missingInFile(toml);
  if (steps.length > 0) await access(FILE, constants.W_OK);
  await checkSignedIn();
  // Of a Worker whose environment is not written yet, wrangler would know nothing.
  const names = isThere ? await secretNames() : [];
  for (const [name, about] of Object.entries(SECRETS)) {
    if (names.includes(name)) continue;
    const what = `secret ${name}, made by chance and kept in ${keptFile(name)} (${about})`;
    steps.push({ what, run: () => put(name) });
  }
  return steps;
}

async function main(): Promise<void> {
  if (env !== undefined && !/^[a-z0-9-]{1,32}$/.test(env)) throw new Error(`--env ${env}: a-z, 0-9 and hyphens`);
  const toml = await config.readConfig();
  const worker = config.workerName(toml, env);
  const steps = await missing(toml);
  const next = `Next: npm run deploy${env === undefined ? "" : ` -- --env ${env}`}`;
  if (steps.length === 0) return console.log(`${worker}: nothing is missing. ${next}`);
  console.log(`${worker} will get:`);
  for (const { what } of steps) console.log(`- ${what}`);
  if (options["dry-run"]) return console.log("Nothing was made: --dry-run.");
  for (const step of steps) {
    await step.run();
    console.log(`done: ${step.what}`);
  }
  console.log(
    `Put what is in ${KEPT} where you keep secrets, then delete it here: nobody can read them from the account.\n${next}`,
  );
}

try {
  await main();
} catch (error) {
  console.error(`setup: ${(error as Error).message}`);
  process.exitCode = 1;
}
