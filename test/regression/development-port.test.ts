// Cursor listens for its authorization code on the port that is wrangler's own: a server of this machine that has it takes
// the code away from it.

import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_PORT } from "../../src/cli/local/development.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Spelled so that this file does not name it. */
const CURSORS = `${80 + 7}87`;
/** Where it is said what clients send, Cursor among them. */
const OF_CLIENTS = ["docs/login-people.md", "test/support/known-clients.ts", "test/login/clients/redirects.test.ts"];
/** What is no part of the repository, and the pages that say why another port is the default. */
const PASSED_OVER =
  /^(?:.*\/)?(?:node_modules|\.git|\.wrangler|dist|results|coverage)(?:\/|$)|^docs\/decisions\/|^CHANGELOG/;

const isPassedOver = (file: string) => PASSED_OVER.test(file);
const filesOf = (pattern: string) =>
  globSync(pattern, { cwd: ROOT, exclude: isPassedOver }).filter(
    (file) => !isPassedOver(file) && statSync(join(ROOT, file)).isFile(),
  );
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

test("no file tells anybody to use the port that Cursor listens on", () => {
  const files = filesOf("{**,.ci/**}");
  expect(files).toEqual(expect.arrayContaining(["README.md", "scripts/start.ts", "src/demo/handbook.md"]));
  const named = new RegExp(`(?<!\\w)${CURSORS}(?!\\w)`);
  expect(files.filter((file) => named.test(read(file)) && !OF_CLIENTS.includes(file))).toEqual([]);
});

test("every configuration of wrangler, and every page, names the port of npm start", () => {
  for (const file of filesOf("{,examples/*/}wrangler.toml")) {
    expect(/^\[dev\]\nport = (\d+)$/m.exec(read(file))?.[1], file).toBe(DEFAULT_PORT);
  }
  const pages = filesOf("{*,docs/*,src/demo/*,examples/*/*}.md").map(read).join("\n");
  // The URL at which a client listens is not one of ours.
  expect(new Set(pages.match(/(?<=http:\/\/localhost:)\d+(?!\d*[a-z/]*\/callback)/g))).toEqual(new Set([DEFAULT_PORT]));
});
