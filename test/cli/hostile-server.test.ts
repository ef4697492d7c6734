// Every command line there is, before a server that puts into every text what a terminal must not see. Commands, options and
// answers are found, not listed: a command that is added is held to this too.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { commandForms, GIVEN_FILE, type CommandForm } from "./command-forms.ts";
import { CommandLine, type Around, type Ended } from "../support/command-line.ts";
import { TOKEN, type FakeAdmin } from "../support/fake-admin.ts";
import { hostileServer } from "./hostile-server.ts";

const C0_AND_C1 = Array.from({ length: 0xa0 }, (_, code) => code).filter((code) => code < 0x20 || code >= 0x7f);
const DIRECTIONS = [0x061c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e];
const ISOLATES = [0x2066, 0x2067, 0x2068, 0x2069];
/** Nothing that a font shows: orders of every family, then each character alone. */
const HOSTILE = `\u001b]0;title\u0007\u001b]52;c;cm0=\u001b\\\u001b[2J\u009b31m\rspoofed${String.fromCharCode(
  ...C0_AND_C1,
  ...DIRECTIONS,
  ...ISOLATES,
)}`;
const MARKER = "spoofed";
const MUST_NOT = new RegExp(
  `[${[...C0_AND_C1, ...DIRECTIONS, ...ISOLATES]
    .filter((code) => code !== 0x0a && code !== 0x09)
    .map((code) => `\\u${code.toString(16).padStart(4, "0")}`)
    .join("")}]`,
  "u",
);
/** A message of MCP for `stdio`, a mapping for whoever reads YAML, a word without spaces for whoever reads a token. */
const META = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}`;
const STDIN = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{${META},"io.modelcontextprotocol/clientCapabilities":{}}}}\n`;
/** What a pipe gets of a resource is the next program's, byte by byte. The only output that is not made printable unasked. */
const EXACT = "resource get";
const FORMS = commandForms();
const COMMANDS = [...new Set(FORMS.map(({ command }) => command))];

/** What our own redrawing and colouring writes. */
const OURS = /\r\u001b\[2K|\u001b\[3[123]m|\u001b\[0m/g;

interface Ran extends Ended {
  readonly form: CommandForm;
  readonly around: Around;
}

interface Runs {
  readonly around?: Around;
  readonly first?: readonly string[];
  /** Of options: where all pairs would show no more than each alone. */
  readonly most?: number;
}

async function runAll(url: string, command: string, { around = {}, first = [], most = 1 }: Runs = {}): Promise<Ran[]> {
  const ended: Ran[] = [];
  for (const form of FORMS.filter((one) => one.command === command && one.options <= most)) {
    const folder = await mkdtemp(join(tmpdir(), "tenantry-hostile-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, GIVEN_FILE), "id: acme\ntitle: New\n");
    const env = { HOME: folder, XDG_CONFIG_HOME: folder, TENANTRY_URL: url, TENANTRY_TOKEN: TOKEN };
    const signal = AbortSignal.timeout(20_000);
    const args = [...first, ...form.args];
    ended.push({
      form,
      around,
      ...(await new CommandLine(folder, env).run(args, { stdin: STDIN, signal, ...around })),
    });
  }
  return ended;
}

function expectHarmless({ form, around, stdout, stderr }: Ran): void {
  const isExact = form.args.includes("--raw") || (form.command === EXACT && around.tty !== true);
  const shown = around.tty === true ? [stdout, stderr].map((text) => text.replaceAll(OURS, "")) : [stdout, stderr];
  if (isExact) shown.shift();
  for (const text of shown) {
    const found = MUST_NOT.exec(text);
    const near = JSON.stringify(text.slice(Math.max(0, (found?.index ?? 0) - 60), (found?.index ?? 0) + 20));
    expect(found, `tenantry ${form.args.join(" ")} printed ${near}`).toBeNull();
  }
}

const PLACES: readonly Runs[] = [{ most: 2 }, { around: { tty: true, env: { TERM: "xterm" } } }, { first: ["--json"] }];

test("every command is among them", () => {
  expect(COMMANDS).toEqual(expect.arrayContaining(["tenant show", "export", "call", "listen", "stdio", "__complete"]));
  expect(COMMANDS.length).toBeGreaterThan(35);
});

test.each(COMMANDS)("%s shows nothing that steers a terminal, whatever the admin API says", async (command) => {
  const { admin } = await hostileServer((text) => `${text}${HOSTILE}`);
  for (const place of PLACES) for (const ran of await runAll(admin.url, command, place)) expectHarmless(ran);
});

test.each(COMMANDS)("%s shows nothing that steers a terminal, whatever an MCP endpoint says", async (command) => {
  const { url } = await hostileServer((text) => `${text}${HOSTILE}`);
  for (const place of PLACES) for (const ran of await runAll(url, command, place)) expectHarmless(ran);
});

test.each(COMMANDS)("%s shows a refusal without what steers a terminal", async (command) => {
  const { admin } = await hostileServer((text) => text);
  const shows: boolean[] = [];
  for (const refuse of REFUSALS) {
    const requestCount = admin.requests.length;
    admin.intercept = refuse;
    const ended = await runAll(admin.url, command);
    for (const ran of ended) expectHarmless(ran);
    if (admin.requests.length > requestCount) shows.push(ended.some(({ stderr }) => stderr.includes(MARKER)));
  }
  // Otherwise this would hold where nothing is shown at all. Completion fails in silence.
  const isSilent = command === "__complete" || SPEAK_MCP.includes(command);
  if (shows.length > 0 && !isSilent) expect(shows[0]).toBe(true);
});

/** They say a refusal in MCP's words, or by its status alone. */
const SPEAK_MCP = ["listen", "stdio", "call", "doctor", "connect"];

const REFUSALS: FakeAdmin["intercept"][] = [
  () => ({
    status: 409,
    json: {
      title: HOSTILE,
      detail: HOSTILE,
      status: 409,
      errors: [{ field: HOSTILE, rule: HOSTILE }],
      requestId: HOSTILE,
    },
  }),
  () => ({ status: 500, body: Buffer.from(HOSTILE), headers: { "content-type": "text/\u009b31m" } }),
  () => ({ status: 308, headers: { location: "https://elsewhere.example/\u009b31m" } }),
  () => ({ body: Buffer.from(HOSTILE), headers: { "content-type": "application/json" } }),
];

test("a resource's body reaches a pipe byte by byte, and a terminal printable unless raw is asked for", async () => {
  const { admin } = await hostileServer((text) => text);
  admin.addResource("acme", "acme:it", HOSTILE);
  const cli = new CommandLine(tmpdir(), { HOME: tmpdir(), TENANTRY_URL: admin.url, TENANTRY_TOKEN: TOKEN });
  const get = ["resource", "get", "acme", "acme:it"];
  expect((await cli.run(get)).stdout).toBe(HOSTILE);
  expect((await cli.run([...get, "--raw"], { tty: true })).stdout).toBe(HOSTILE);
  admin.addResource("acme", "acme:it", HOSTILE.replaceAll("\u0000", ""));
  const shown = (await cli.run(get, { tty: true })).stdout;
  expect(shown).toContain(MARKER);
  expect(shown).not.toMatch(MUST_NOT);
});
