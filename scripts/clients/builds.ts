// Which builds of others' clients are tried, and what each cannot do by itself, with the reason. Versions are the
// lock's: a build is a line in a package.json below test/client-builds.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "../../test/client-builds/session.ts";

export const CLIENT_BUILDS = join(import.meta.dirname, "../../test/client-builds");
export const FOLDERS = ["sdk-v1", "others"] as const;
export const STEPS: readonly Step[] = [
  "list",
  "call",
  "read",
  "prompt",
  "notification",
  "right key",
  "wrong key",
  "login",
];

export interface Build {
  /** What it is called in tables. */
  readonly name: string;
  /** As the registry names it. */
  readonly product: string;
  readonly version: string;
  readonly era?: string;
  readonly folder: (typeof FOLDERS)[number];
  /** What the package is called where it is installed. */
  readonly installed: string;
  readonly driver: string;
  readonly cannot: Cannot;
}

export type Cannot = Readonly<Partial<Record<Step, string>>>;

interface Family {
  readonly folder: (typeof FOLDERS)[number];
  readonly driver: string;
  /** Which of the folder's packages. */
  readonly installed: RegExp;
  /** Each build once for each. */
  readonly eras?: readonly string[];
  readonly cannot?: (version: Version) => Cannot;
}

interface Version {
  readonly major: number;
  readonly minor: number;
}

const NO_HEADERS = "cannot send headers with its stream";
const NO_LOGIN = "does not support a login";
const ROOT_ALONE =
  "looks for the authorization server at the root of the host, which belongs to no tenant if several tenants share the host";
const PATH_OF_THE_ENDPOINT =
  "looks for the metadata of the authorization server under the path of the endpoint, not under the path of the issuer";
/** The answer of note_write has one. */
const NO_LINKS = "refuses results with a link to a resource, although its protocol version has such links";
const NO_PROMPTS = "has no API for prompts";
const HEARS_NOTHING = "has no API for notifications that a list changed";
const ONE_SHOT = "ends after one answer and cannot wait for a notification";

function beyondSdkV1({ minor }: Version): Cannot {
  return { ...(minor === 0 ? { "right key": NO_HEADERS } : {}), ...loginBeyond(minor) };
}

function loginBeyond(minor: number): Cannot | undefined {
  if (minor < 6) return { login: NO_LOGIN };
  if (minor < 13) return { login: ROOT_ALONE };
  return minor === 15 ? { login: PATH_OF_THE_ENDPOINT } : undefined;
}

const FAMILIES: readonly Family[] = [
  { folder: "sdk-v1", driver: "driver.ts", installed: /^sdk-1-\d+$/, cannot: beyondSdkV1 },
  { folder: "others", driver: "sdk-v2.ts", installed: /^client-2-\d+$/, eras: ["2025", "2026"] },
  { folder: "others", driver: "mcp-remote.ts", installed: /^mcp-remote(?:-|$)/ },
  {
    folder: "others",
    driver: "inspector.ts",
    installed: /^@modelcontextprotocol\/inspector$/,
    cannot: () => ({ notification: ONE_SHOT }),
  },
  {
    folder: "others",
    driver: "ai-sdk.ts",
    installed: /^(?:@ai-sdk\/mcp|ai-sdk-mcp-\d)$/,
    cannot: ({ major }) => ({ notification: HEARS_NOTHING, ...(major === 0 ? { call: NO_LINKS } : {}) }),
  },
  { folder: "others", driver: "langchain.ts", installed: /^@langchain\/mcp-adapters$/ },
  {
    folder: "others",
    driver: "openai-agents.ts",
    installed: /^@openai\/agents-core$/,
    cannot: () => ({ prompt: NO_PROMPTS, notification: HEARS_NOTHING }),
  },
  { folder: "others", driver: "mastra.ts", installed: /^@mastra\/mcp$/ },
  { folder: "others", driver: "mcp-use.ts", installed: /^mcp-use$/ },
];

interface Lock {
  readonly packages: Readonly<Record<string, Locked>>;
}

interface Locked {
  readonly name?: string;
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export function allBuilds(): readonly Build[] {
  return FAMILIES.flatMap((family) =>
    packagesOf(family)
      .toSorted((one, other) => one.version.localeCompare(other.version, "en", { numeric: true }))
      .flatMap((found) => (family.eras ?? [undefined]).map((era) => buildOf(family, found, era))),
  );
}

type Package = Pick<Build, "installed" | "product" | "version">;

function packagesOf({ folder, installed }: Family): readonly Package[] {
  const { packages } = JSON.parse(readFileSync(join(CLIENT_BUILDS, folder, "package-lock.json"), "utf8")) as Lock;
  return Object.keys(packages[""]?.dependencies ?? {})
    .filter((name) => installed.test(name))
    .map((name) => {
      const { name: product = name, version = "" } = packages[`node_modules/${name}`] ?? {};
      return { installed: name, product, version };
    });
}

function buildOf({ folder, driver, cannot }: Family, found: Package, era: string | undefined): Build {
  const [major = 0, minor = 0] = found.version.split(".").map(Number);
  return {
    ...found,
    folder,
    driver,
    name: [`${found.product}@${found.version}`, ...(era === undefined ? [] : [`in ${era}`])].join(" "),
    ...(era === undefined ? {} : { era }),
    cannot: cannot?.({ major, minor }) ?? {},
  };
}
