import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { optionError, scriptOptions } from "./script-options.ts";

const FIXTURE = join(import.meta.dirname, "../test/fixtures/json-schema-2020-12.json.gz");
const { folder, commit } = scriptOptions(
  `npx node scripts/json-schema-suite.ts --folder FOLDER --commit COMMIT

Writes test/fixtures/json-schema-2020-12.json.gz: the required cases of draft 2020-12, by file, with their license. 1 second.

  --folder FOLDER  a checkout of https://github.com/json-schema-org/JSON-Schema-Test-Suite
  --commit COMMIT  the commit of the checkout`,
  { folder: { type: "string", default: "" }, commit: { type: "string", default: "" } },
);
if (folder === "" || commit === "") optionError("--folder and --commit are needed");

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
