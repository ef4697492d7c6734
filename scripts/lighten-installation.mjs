// `npm run dependencies`, which npm runs by itself after `npm ci` in a checkout, and never for who installs the package: takes away what the Node of node_modules brings for compiling against it,
// 68 MB of C headers. Refuses to touch anything else, and anything that is not there: docs/decisions/0140-what-an-installation-weighs.md.
// In JavaScript: without development dependencies the Node of the machine runs it, which may be too old for the other scripts.

import { existsSync, readdirSync, rmSync } from "node:fs";

const PLACE = "node_modules/node/node_modules";

for (const name of existsSync(PLACE) ? readdirSync(PLACE) : []) {
  if (name.startsWith("node-")) rmSync(`${PLACE}/${name}/include`, { recursive: true, force: true });
}
