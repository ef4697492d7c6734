// Finds out how npm installed this program, so that a new project installs the same: a version, or a tarball while
// none is published. Without a manifest, it is this program's own version.

import { readFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { PACKAGE_FOLDER } from "../install-path.ts";
import { VERSION } from "../version.ts";

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** The specifier for the `package.json` of `project`: paths are relative to that folder. */
export async function installedSource(project: string): Promise<string> {
  // `npx` also installs into a folder with a package.json.
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
    // The installer wrote no package.json, so nothing is known.
    return {};
  }
}

export function fileSpecifier(project: string, to: string): string {
  const path = relative(project, to).split(sep).join("/");
  return `file:${path.startsWith("..") ? path : `./${path}`}`;
}
