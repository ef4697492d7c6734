// Owns reading and changing wrangler.toml as text, so that its comments stay: the Worker's name, its KV namespace, and the
// bindings of an environment, which inherits none. Refuses to know TOML beyond the form in which this repository writes it.

import { readFile } from "node:fs/promises";

export const FILE = "wrangler.toml";
export const UNSET_ID = "00000000000000000000000000000000";
const BINDING = "BODIES";
const OF_BODIES = new RegExp(`^binding\\s*=\\s*["']${BINDING}["']`, "m");
/** What an environment inherits though it is a table. */
const INHERITED = /^(?:env|observability|migrations|build|dev|rules|limits|placement|triggers|assets)\b/;

export async function readConfig(): Promise<string> {
  try {
    return await readFile(FILE, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(code === "ENOENT" ? `${FILE}: no such file: run this in a checkout of tenantry` : message, {
      cause: error,
    });
  }
}

export function workerName(toml: string, env?: string): string {
  // Tables have names, too.
  const [top = ""] = toml.split(/^\[/m);
  const name = /^name\s*=\s*["']([^"']+)["']/m.exec(top)?.[1];
  if (name === undefined) throw new Error(`${FILE} has no name: name = "tenantry", before the first [table]`);
  return env === undefined ? name : `${name}-${env}`;
}

/** What the namespace of resource bodies is called in the account. */
export function namespaceTitle(toml: string, env?: string): string {
  return `${workerName(toml, env)}-${BINDING}`;
}

function kvTable(env?: string): string {
  return env === undefined ? "[[kv_namespaces]]" : `[[env.${env}.kv_namespaces]]`;
}

/** From this table's head to the next one's. */
function blocksOf(toml: string, head: string): { readonly from: number; readonly to: number }[] {
  const blocks = [];
  for (let from = toml.indexOf(`\n${head}`); from >= 0; from = toml.indexOf(`\n${head}`, from + 1)) {
    const next = toml.slice(from + 2).search(/\n\[/);
    blocks.push({ from: from + 1, to: next < 0 ? toml.length : from + 2 + next });
  }
  return blocks;
}

function bodiesOf(toml: string, env?: string) {
  return blocksOf(toml, kvTable(env)).find(({ from, to }) => OF_BODIES.test(toml.slice(from, to)));
}

/** undefined: there is none yet. */
export function namespaceId(toml: string, env?: string): string | undefined {
  const block = bodiesOf(toml, env);
  const id = block && /^id\s*=\s*["']([^"']*)["']/m.exec(toml.slice(block.from, block.to))?.[1];
  return id === UNSET_ID ? undefined : id;
}

export function withNamespaceId(toml: string, id: string, env?: string): string {
  const block = bodiesOf(toml, env);
  if (!block) throw new Error(withoutBodies(env));
  const before = toml.slice(block.from, block.to);
  const line = `id = "${id}"`;
  const text = /^id\s*=/m.test(before)
    ? before.replace(/^id\s*=.*$/m, line)
    : before.replace(/^binding\s*=.*$/m, (binding) => `${binding}\n${line}`);
  return toml.slice(0, block.from) + text + toml.slice(block.to);
}

function withoutBodies(env?: string): string {
  return `${FILE} has no ${kvTable(env)} with binding = "${BINDING}"`;
}

/** Whether it has this environment. Throws where the namespace of the Worker, or of the environment that is there, is not named. */
export function hasEnvironment(toml: string, env?: string): boolean {
  if (!bodiesOf(toml)) throw new Error(withoutBodies());
  if (env === undefined || bodiesOf(toml, env)) return true;
  if (environments(toml).includes(env)) {
    throw new Error(`${withoutBodies(env)}: write the bindings of [env.${env}], or take it out and run this again`);
  }
  return false;
}

export function environments(toml: string): readonly string[] {
  return [...new Set([...toml.matchAll(/^\[{1,2}env\.([\w-]+)/gm)].map(([, name = ""]) => name))];
}

/** Tables that an environment neither inherits nor is given: what is in them may be the Worker's alone. */
export function notCopied(toml: string): readonly string[] {
  const heads = [...toml.matchAll(/^\[{1,2}([\w.-]+)\]/gm)].map(([head, name = ""]) => ({ head, name }));
  const own = heads.filter(({ name }) => !INHERITED.test(name) && !COPIED.some((table) => table === name));
  return [...new Set(own.map(({ head }) => (head.startsWith("[[") ? `${head}]` : head)))];
}

const COPIED = ["kv_namespaces", "durable_objects.bindings"] as const;

/** With the bindings of the Worker in an environment: namespaces of its own, whose ids are not there yet. */
export function withEnvironment(toml: string, env: string): string {
  const copied = COPIED.flatMap((table) =>
    blocksOf(toml, `[[${table}]]`).map(({ from, to }) =>
      toml
        .slice(from, to)
        .replaceAll(/^#.*\n?/gm, "")
        .trim()
        .replace(`[[${table}]]`, `[[env.${env}.${table}]]`)
        .replace(/^id\s*=.*$/m, `id = "${UNSET_ID}"`),
    ),
  );
  const head = `# Written by npm run setup -- --env ${env}: an environment inherits no bindings.\n[env.${env}]`;
  return `${toml.trimEnd()}\n\n${[head, ...copied].join("\n\n")}\n`;
}

/** Whether it says anything of it: who has switched it off meant that. */
export function isObserved(toml: string): boolean {
  return /^\[observability\]|^observability\b/m.test(toml);
}

export function withObservability(toml: string): string {
  return `${toml.trimEnd()}\n\n[observability]\nenabled = true\n`;
}
