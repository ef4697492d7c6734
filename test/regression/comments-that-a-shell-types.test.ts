// zsh, the shell of macOS, takes no comments where somebody types: the words behind `#` went to the command, and the apostrophe of
// "the Worker's secrets" behind a command had it wait for another one.

import { expect, it } from "vitest";
import { projectFiles } from "../../src/cli/init/project-files.ts";
import { pageBlocks } from "../support/page-blocks.ts";

const COMMENT = /(?:^|\s)#/;
const typed = [
  ...pageBlocks().flatMap(({ page, line, language, text }) =>
    language === "sh"
      ? [{ at: `${page}:${line}`, lines: text.replaceAll(/<<'END'\n[\s\S]*?^END$/gm, "").split("\n") }]
      : [],
  ),
  { at: "README.md of tenantry init", lines: readmeLines() },
];

function readmeLines(): string[] {
  const about = { name: "shop", source: "0.1.0", versions: {}, adminToken: "", secretsKey: "" };
  return (projectFiles(about).get("README.md") ?? "").split("\n").filter((line) => line.startsWith("    "));
}

it("are in no block that is typed", () => {
  expect(typed.length).toBeGreaterThan(30);
  expect(readmeLines().length).toBeGreaterThan(10);
  const found = typed.flatMap(({ at, lines }) =>
    lines.filter((line) => COMMENT.test(line)).map((line) => `${at}: ${line}`),
  );
  expect(found).toEqual([]);
});

it("would be seen", () => {
  expect(COMMENT.test("npm start    # serves it")).toBe(true);
  expect(COMMENT.test("curl http://localhost/#part")).toBe(false);
});
