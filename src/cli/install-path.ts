// The path of this program's entry and of its package folder. This file must stay beside the entry: the published
// package bundles the whole program into that one file.

import { fileURLToPath } from "node:url";

export const ENTRY = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "main.ts" : "main.js", import.meta.url));

export const PACKAGE_FOLDER = fileURLToPath(new URL("../..", import.meta.url));
