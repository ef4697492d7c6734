// Owns what npm installed this program as, so that a new project installs the same: a version, or a tarball while none is
// published. Refuses to guess: where nothing says it, it is the version that this program has.

import { readFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { PACKAGE_FOLDER } from "../install-path.ts";
import { VERSION } from "../version.ts";

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** As it stands in the `package.json` of `project`: paths lead from there. */
export async function installedSource(project: string): Promise<string> {
  // `npx`, too, installs what it runs into a folder with a package.json.
  const root = dirname(dirname(resolve(PACKAGE_FOLDER)));
  if (!resolve(PACKAGE_FOLDER).endsWith(`${sep}node_modules${sep}tenantry`))
    return fileSpecifier(project, PACKAGE_FOLDER);
  const manifest = await readManifest(root);
  const range = manifest.dependencies?.["tenantry"] ?? manifest.devDependencies?.["tenantry"];
  if (range?.startsWith("file:")) return fileSpecifier(project, resolve(root, range.slice("file:".length)));
  return range ?? `^${VERSION}`;
}

/** The versions that this release was tested with. */
export async function testedVersions(names: readonly string[]): Promise<Record<string, string>> {
  const { dependencies, devDependencies } = await readManifest(PACKAGE_FOLDER);
  const versions = { ...dependencies, ...devDependencies };
  return Object.fromEntries(names.map((name) => [name, versions[name] ?? "latest"]));
}

async function readManifest(folder: string): Promise<Manifest> {
  try {
    return JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
  } catch {
    // Installed by something that keeps none: then nothing is known.
    return {};
  }
}

export function fileSpecifier(project: string, to: string): string {
  const path = relative(project, to).split(sep).join("/");
  return `file:${path.startsWith("..") ? path : `./${path}`}`;
}
