// Writes the pages that are made from the sources: the options of definitions, the tenant document, the Worker's
// variables, the errors, the list of decisions.
// Refuses to write words of its own: they stand in scripts/reference, and a member of the sources that has none ends it.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { REFERENCE_PAGES, laidOut } from "./reference/reference-pages.ts";
import { scriptOptions } from "./script-options.ts";

const PAGES = Object.keys(REFERENCE_PAGES);
scriptOptions(`npm run reference\n\nWrites ${PAGES.join(", ")} from the sources. 1 second.`, {});

const ROOT = join(import.meta.dirname, "..");
for (const [page, write] of Object.entries(REFERENCE_PAGES)) writeFileSync(join(ROOT, page), laidOut(page, write()));
