// Writes the pages that are made from the sources: the tenant document, the Worker's variables, the errors, the list of decisions.
// Refuses to write words of its own: they stand in scripts/reference, and a member of the sources that has none ends it.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { REFERENCE_PAGES, laidOut } from "./reference/reference-pages.ts";

const ROOT = join(import.meta.dirname, "..");
for (const [page, write] of Object.entries(REFERENCE_PAGES)) writeFileSync(join(ROOT, page), laidOut(page, write()));
