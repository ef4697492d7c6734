// Which README an npm package has: whoever installs it gets docs/package.md, and not how a checkout is started.
// `prepack` puts it in the place of README.md, `postpack` and `postpublish` put that back.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const README = "README.md";
const PAGE = "docs/package.md";
/** Meanwhile; npm packs whatever begins with README. */
const KEPT = ".checkout-README.md";

/** What the page links to is beside it; seen from the root it is in docs. */
function fromRoot(page: string): string {
  return page.replaceAll(/\]\((?![a-z]+:|#)([^)]+)\)/g, (_all, to: string) => {
    return to.startsWith("../") ? `](${to.slice(3)})` : `](docs/${to})`;
  });
}

const at = (name: string) => join(process.cwd(), name);
const [, , way] = process.argv;
if (way === "put") {
  // It is still kept where the last publishing failed.
  if (!existsSync(at(KEPT))) renameSync(at(README), at(KEPT));
  writeFileSync(at(README), fromRoot(readFileSync(at(PAGE), "utf8")));
} else if (way === "back") {
  // npm reads once more what a registry shows, between `postpack` and `postpublish`.
  const { npm_command: command = "", npm_lifecycle_event: event } = process.env;
  const isAskedAgain = ["publish", "stage"].includes(command) && event === "postpack";
  if (!isAskedAgain && existsSync(at(KEPT))) renameSync(at(KEPT), at(README));
} else {
  process.stderr.write("package-readme: the argument must be put or back\n");
  process.exitCode = 2;
}
