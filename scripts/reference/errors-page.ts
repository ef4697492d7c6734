// docs/errors.md: every error of the tables in the sources, with what it means and what to do.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS, errorCode, errorStatus, type ErrorKey } from "../../src/protocol/errors.ts";
import { ERROR_WORDS, IDENTITY_TODO, LOGIN_WORDS, PROBLEM_WORDS } from "./errors-words.ts";
import { table, wordsOf } from "./table.ts";

const SRC = join(import.meta.dirname, "../../src");
const ERROR_KEYS = Object.keys(ERRORS) as ErrorKey[];
/** Codes of RFC 6749, 6750, 7591 and 8707. */
const OAUTH = /"((?:invalid|insufficient|unsupported|temporarily|access|server)_(?!key)[a-z_]+)"/g;

const HEAD = `# Errors

This page explains each error of an MCP endpoint, the admin API and login, and says what to do. To start from what a customer sees, read [Troubleshooting](troubleshooting.md). If the text of an error
continues after a colon, that part describes the particular case. \`npm run reference\` writes this page from the sources.`;

const MCP = `## MCP endpoints

A client gets an error like this:

\`\`\`text
{ "jsonrpc": "2.0", "id": 1, "error": { "code": -32600, "message": "Session not found" } }
\`\`\`

If a row has two codes or two statuses, the first is for protocol versions of 2025, and the second is for 2026-07-28. With status 200, the HTTP request succeeded, but the MCP method failed.`;

const ADMIN = `## Admin API

The body is \`application/problem+json\`, with \`detail\`, \`errors\` and \`requestId\`. Its \`type\` is \`urn:tenantry:problem:\` followed by the name.`;

const LOGIN = `## Login

OAuth clients of a tenant get these errors. A person gets a page with the cause and the next step.`;

const IDENTITY = `## \`ctx.identity\`

If \`ctx.identity.token\` fails, the error is \`no token for this caller (RULE): ...\`. The caller gets this text, and so does the log. See "[Call your own API as the person](login-identity.md)".`;

const ELSEWHERE = `## Other errors

- If an upstream cannot be read, see [Other MCP servers](gateway.md#when-something-is-missing).
- If a request with \`ctx.fetch\` is refused, see [Fetch URLs safely](outbound.md).
- If your code has a mistake, see [Troubleshooting](troubleshooting.md#while-you-write).
- For the exit codes of the command line, run \`tenantry help exit-codes\`.`;

export function errorsPage(): string {
  const parts = [HEAD, MCP, mcpTable(), ADMIN, adminTable(), LOGIN, loginTable(), IDENTITY, identityTable(), ELSEWHERE];
  return `${parts.join("\n\n")}\n`;
}

const read = (file: string) => readFileSync(join(SRC, file), "utf8");

const inEras = (of: (key: ErrorKey, era: "2025" | "2026") => number, key: ErrorKey) =>
  [...new Set([of(key, "2025"), of(key, "2026")])].join(", ");

function mcpTable(): string {
  const rows = ERROR_KEYS.map((key) => [
    `\`${ERRORS[key].message}\``,
    `\`${key}\``,
    inEras(errorCode, key),
    inEras(errorStatus, key),
    ...ERROR_WORDS[key],
  ]);
  return table(["text", "name", "code", "status", "meaning", "what to do"], rows);
}

/** Its module is for Workers alone: what it says is read. */
function adminTable(): string {
  const [, problems = ""] = /const PROBLEMS = \{([\s\S]*?)^\}/m.exec(read("admin/problem.ts")) ?? [];
  const rows = [...problems.matchAll(/^ {2}"?([\w-]+)"?: \{ status: (\d+), title: "(.+)" \},$/gm)];
  const said = new Map(
    rows.map(([, name = "", status = "", title = ""]) => [name, [`\`${title}\``, `\`${name}\``, status]]),
  );
  const worded = wordsOf("problem", PROBLEM_WORDS, [...said.keys()]);
  return table(
    ["title", "name", "status", "meaning", "what to do"],
    worded.map(([name, words]) => [...(said.get(name) ?? []), ...words]),
  );
}

function loginTable(): string {
  const files = globSync(["login/**/*.ts"], { cwd: SRC });
  const found = files.flatMap((file) => [...read(file).matchAll(OAUTH)].map(([, code = ""]) => code));
  const codes = [...new Set(found)].toSorted((a, b) => (a < b ? -1 : 1));
  const rows = wordsOf("OAuth error", LOGIN_WORDS, codes).map(([code, words]) => [`\`${code}\``, ...words]);
  return table(["error", "meaning", "what to do"], rows);
}

function identityTable(): string {
  const [, rules = ""] = /const RULES = \{([\s\S]*?)^\}/m.exec(read("login/identity/identity-error.ts")) ?? [];
  const said = new Map([...rules.matchAll(/^ {2}(\w+):\s+"(.*)",$/gm)].map(([, rule = "", text = ""]) => [rule, text]));
  const rows = wordsOf("rule of identity", IDENTITY_TODO, [...said.keys()]).map(([rule, todo]) => [
    `\`${rule}\``,
    said.get(rule) ?? "",
    todo,
  ]);
  return table(["rule", "the text", "what to do"], rows);
}
