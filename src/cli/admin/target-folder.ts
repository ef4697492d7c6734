// Turns names from a server into paths. Every file whose name comes from a server is written through this module. It
// refuses names that leave the folder, that a system treats specially, and two names that are one file on some disk.

import { randomBytes } from "node:crypto";
import { lstat, mkdir } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { CliError, EXIT } from "../exit.ts";
import { fileError } from "./file-error.ts";
import { isPrintable } from "../terminal/printable.ts";

/** Devices on Windows, with any extension and in any folder. */
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])[ ]*(?:[.:]|$)/i;
/** On Windows these separate a drive or a stream, form patterns, or are 8.3 aliases of other files. */
const INVALID_ON_WINDOWS = /[<>:"|?*]|~[0-9]/;
const TEMPORARY_PREFIX = ".tenantry-part-";

export interface TargetFolderOptions {
  /** Whether to accept names that start with a dot. Other programs read `.bashrc` and `.git` unasked. */
  readonly hidden?: boolean;
  readonly platform?: NodeJS.Platform;
}

/** The first matching rule is reported. `bare`: the name without characters that some disks ignore. */
const RULES: readonly (readonly [
  why: string,
  isUnfit: (part: string, bare: string, options: Required<TargetFolderOptions>) => boolean,
])[] = [
  ["leads to another folder", (_part, bare) => bare === "" || /^\.\.?$|[/\\\u0000]|^[a-z]:/i.test(bare)],
  ["contains characters that are not allowed in a name", (part) => !isPrintable(part) || /[\n\t]|\p{Cs}/u.test(part)],
  ["is a device name on Windows", (_part, bare) => WINDOWS_DEVICE.test(bare)],
  ["ends in a dot or space, which some systems remove", (_part, bare) => /[. ]$/.test(bare)],
  [
    "is not a valid name on this system",
    (part, _bare, { platform }) => platform === "win32" && INVALID_ON_WINDOWS.test(part),
  ],
  ["is reserved for temporary files of tenantry", (_part, bare) => bare.toLowerCase().startsWith(TEMPORARY_PREFIX)],
  ["begins with a dot; --hidden takes it", (_part, bare, { hidden }) => bare.startsWith(".") && !hidden],
];

/** Why a path segment cannot be a file or folder name; undefined if it can. */
export function invalidNameReason(part: string, options: TargetFolderOptions = {}): string | undefined {
  const resolved = { hidden: false, platform: process.platform, ...options };
  return RULES.find(([, isUnfit]) => isUnfit(part, withoutIgnorable(part), resolved))?.[0];
}

function withoutIgnorable(part: string): string {
  return part.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "");
}

export class TargetFolder {
  readonly #folder: string;
  readonly #options: TargetFolderOptions;
  readonly #claimed = new Map<string, { readonly source: string; readonly isFolder: boolean }>();

  constructor(folder: string, options: TargetFolderOptions = {}) {
    this.#folder = folder;
    this.#options = options;
  }

  /** `source`: the server's name for the file, for messages. Resolve all files before writing the first. */
  fileFor(source: string, parts: readonly string[]): string {
    for (const part of parts.length === 0 ? [""] : parts) {
      const why = invalidNameReason(part, this.#options);
      if (why !== undefined)
        throw targetError(`${source}: cannot be a file under ${this.#folder}: ${nameText(part)} ${why}`);
    }
    parts.forEach((_, at) => this.#claim(source, parts.slice(0, at + 1), at < parts.length - 1));
    return join(this.#folder, ...parts);
  }

  #claim(source: string, parts: readonly string[], isFolder: boolean): void {
    const key = parts.map(canonicalName).join("/");
    const existing = this.#claimed.get(key);
    if (existing === undefined) this.#claimed.set(key, { source, isFolder });
    else if (existing.source !== source && !(existing.isFolder && isFolder)) {
      throw targetError(`${existing.source} and ${source} would be the same file under ${this.#folder}`);
    }
  }
}

function targetError(message: string): CliError {
  return new CliError(EXIT.refused, message);
}

function nameText(part: string): string {
  return part === "" ? "an empty name" : part;
}

/** Equal for names that are one file on a disk that ignores case or Unicode normalization. */
function canonicalName(name: string): string {
  return withoutIgnorable(name).normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}

/**
 * Creates the folders between `root` and the file. Throws if one of them is a link: files named by a server must
 * stay inside this folder.
 */
export async function makeParents(root: string, file: string): Promise<void> {
  try {
    await mkdir(root, { recursive: true });
    for (const folder of parentsBetween(root, file)) {
      await mkdir(folder).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      });
      if ((await lstat(folder)).isSymbolicLink())
        throw targetError(`${folder}: is a link, so ${file} could be written outside the target folder`);
    }
  } catch (error) {
    throw error instanceof CliError ? error : fileError(error, file);
  }
}

/** Whether no link lies between `root` and the file. */
export async function isInsideWithoutLinks(root: string, file: string): Promise<boolean> {
  for (const folder of parentsBetween(root, file)) {
    const stats = await lstat(folder).catch(() => undefined);
    if (stats === undefined || stats.isSymbolicLink()) return false;
  }
  return true;
}

function parentsBetween(root: string, file: string): string[] {
  const parts = relative(root, dirname(file)).split(sep).filter(Boolean);
  return parts.map((_, at) => join(root, ...parts.slice(0, at + 1)));
}

/** A file left by an interrupted write. */
export function isTemporaryFile(name: string): boolean {
  return name.startsWith(TEMPORARY_PREFIX);
}

/** A file in the same folder, to be renamed when complete. No other file has this name, and no server can choose it. */
export function temporaryPathFor(file: string): string {
  return join(dirname(file), `${TEMPORARY_PREFIX}${randomBytes(12).toString("hex")}`);
}
