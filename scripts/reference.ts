// Writes the reference pages and tables from the sources. Words for them are in scripts/reference: a route, field or
// metric without words is an error.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { REFERENCE_PAGES, laidOut } from "./reference/reference-pages.ts";
import { scriptOptions } from "./script-options.ts";

const PAGES = Object.keys(REFERENCE_PAGES);
scriptOptions(`npm run reference\n\nWrites ${PAGES.join(", ")} from the sources. 1 second.`, {});

const ROOT = join(import.meta.dirname, "..");
for (const [page, write] of Object.entries(REFERENCE_PAGES)) writeFileSync(join(ROOT, page), laidOut(page, write()));
