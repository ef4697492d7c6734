// Owns where this program lies: its entry, and the folder of the package around it. Refuses to move from beside the
// entry: in the package the whole program is the entry, one file.

import { fileURLToPath } from "node:url";

export const ENTRY = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "main.ts" : "main.js", import.meta.url));

export const PACKAGE_FOLDER = fileURLToPath(new URL("../../..", import.meta.url));
