// Folders of files to upload, the same at every call: texts and bytes, empty, alike and large, with names that need
// encoding.

import { createCipheriv, createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface MadeFile {
  /** Path in the folder, with slashes. */
  readonly name: string;
  readonly body: Buffer;
}

const KINDS = ["md", "json", "bin", "txt"] as const;
const LARGEST_SMALL = 6000;

/** `count` files in the folder `within`, each kind as often as the others; every tenth one is like any other tenth one. */
export function makeFiles(within: string, count: number): readonly MadeFile[] {
  return Array.from({ length: count }, (_, number) => {
    const kind = KINDS[number % KINDS.length] ?? "txt";
    const section = `section ${Math.floor(number / 50)}`;
    const name = `${within}/${section}/${String(number).padStart(4, "0")}-ü.${kind}`;
    const alike = number % 10 === 9;
    return { name, body: bodyOf(kind, alike ? "alike" : name, alike ? 100 : (number * 997) % LARGEST_SMALL) };
  });
}

function bodyOf(kind: (typeof KINDS)[number], seed: string, size: number): Buffer {
  switch (kind) {
    case "bin":
      // Not UTF-8, whatever follows.
      return Buffer.concat([Buffer.from([0xff, 0x00]), noise(seed, size)]);
    case "json":
      return Buffer.from(JSON.stringify({ seed, filler: "x".repeat(size) }));
    case "md":
      return Buffer.from(`# ${seed}\n\n${"Grüße, 世界. ".repeat(size / 16)}\n`);
    case "txt":
      // Empty, with a byte order mark, and with the other line ends.
      return size % 7 === 0 ? Buffer.alloc(0) : Buffer.from(`\uFEFF${seed}\r\n${"line\r\n".repeat(size / 6)}`);
  }
}

/** Bytes that neither compress nor repeat. */
export function noise(seed: string, size: number): Buffer {
  const key = createHash("sha256").update(seed).digest();
  return createCipheriv("aes-256-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(size));
}

export function sha256(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

export async function writeFolder(folder: string, files: readonly MadeFile[]): Promise<void> {
  for (const { name, body } of files) {
    const file = join(folder, ...name.split("/"));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, body);
  }
}

/** The URI that `tenantry resource put FOLDER --prefix PREFIX` gives the file. */
export function uriOf(prefix: string, { name }: MadeFile): string {
  return prefix + name.split("/").map(encodeURIComponent).join("/");
}
