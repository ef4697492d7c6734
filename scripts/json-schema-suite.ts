// Makes test/fixtures/json-schema-2020-12.json.gz of a checkout of https://github.com/json-schema-org/JSON-Schema-Test-Suite: the
// required cases of draft 2020-12, by file, with its licence. `node scripts/json-schema-suite.ts FOLDER COMMIT`.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const FIXTURE = join(import.meta.dirname, "../test/fixtures/json-schema-2020-12.json.gz");
const [, , folder = ".", commit = ""] = process.argv;

const cases = join(folder, "tests/draft2020-12");
const files = readdirSync(cases).filter((name) => name.endsWith(".json"));
const suite = {
  commit,
  license: readFileSync(join(folder, "LICENSE"), "utf8"),
  files: Object.fromEntries(
    files.map((name) => [name.replace(".json", ""), JSON.parse(readFileSync(join(cases, name), "utf8")) as unknown]),
  ),
};
writeFileSync(FIXTURE, gzipSync(JSON.stringify(suite), { level: 9 }));
