// docs/clients-tried.md: what was seen of every build, what a client cannot do by itself and why, and what people are
// told who have a wrong key.

import { STEPS, type Build } from "./builds.ts";
import { isWrong, type Tried } from "./try-build.ts";

const HEAD = `# Clients that are tested

This page lists builds of MCP clients and what each build can do with tenantry. \`npm run clients -- --write\` runs each build against
\`npm start\` and writes this page. The lock file in \`test/client-builds\` has the versions. \`npm run clients\` runs all builds again and fails if a cell has changed.
\`npm run clients -- --only TEXT\` runs only builds whose name contains \`TEXT\`. To configure a client, see [Connect clients](clients.md).

The table has a column for each test:

- **list, call, read, prompt**: the build lists the tools of a tenant, writes a note with a tool, reads the note as a resource, and gets a prompt that contains the note.
- **notification**: when another note is written, the build gets the notification that the list of resources changed.
- **right key**: the build lists the tools of a tenant of mode \`key\`.
- **wrong key**: if one character of the key is wrong, the build shows an error about the key or the login within 20 s.
- **login**: the build is refused, finds the login of the tenant, registers, and opens the page on which a person pastes a key. Then it lists the tools.

In the table, \`yes\` means that the build can do this, and \`-\` means that it cannot. The reasons are below the table.
`;

export function triedPage(tried: readonly Tried[]): string {
  if (tried.some(({ cells }) => Object.values(cells).some(isWrong)))
    throw new Error("a cell is wrong: nothing is written");
  const products = new Set(tried.map(({ build }) => build.product));
  return [
    HEAD,
    `${tried.length} builds of ${products.size} packages.\n`,
    table(tried),
    "\n## What a client cannot do\n",
    ...reasons(tried),
    "\n## Errors for a wrong key\n",
    "These are the errors that the newest version of each client throws or prints:\n",
    "```text",
    ...wrongKeys(tried),
    "```\n",
  ].join("\n");
}

function table(tried: readonly Tried[]): string {
  const rows = tried.map(({ build, cells }) =>
    line([`\`${build.product}\``, build.version, build.era ?? "", ...STEPS.map((step) => marked(cells[step]))]),
  );
  return [line(["client", "version", "era", ...STEPS]), line(Array(STEPS.length + 3).fill("---")), ...rows].join("\n");
}

function marked(cell: Tried["cells"][keyof Tried["cells"]]): string {
  return "cannot" in cell ? "-" : "yes";
}

function reasons(tried: readonly Tried[]): readonly string[] {
  const failures = tried.flatMap(({ build }) =>
    Object.entries(build.cannot).map(([step, reason]) => ({ step, reason, build })),
  );
  const groups = Map.groupBy(failures, ({ step, reason }) => `${step} ${reason}`).values();
  return [...groups].flatMap((own) => {
    const [first] = own;
    if (!first) return [];
    return [`- **${first.step}** fails in ${named(own.map(({ build }) => build))}: the client ${first.reason}.`];
  });
}

/** Each package once, with its versions. */
function named(builds: readonly Build[]): string {
  return [...Map.groupBy(builds, ({ product }) => product)]
    .map(([product, own]) => `\`${product}\` ${own.map(({ version }) => version).join(", ")}`)
    .join(" and ");
}

function wrongKeys(tried: readonly Tried[]): readonly string[] {
  const newest = Map.groupBy(tried, ({ build }) => `${build.product} ${build.era ?? ""}`).values();
  return [...newest].flatMap((own) => {
    const { build, cells } = own.at(-1) ?? {};
    const cell = cells?.["wrong key"];
    if (!build || !cell || "cannot" in cell) return [];
    const era = build.era === undefined ? "" : `, era ${build.era}`;
    return [`${build.product} ${build.version}${era}: ${shown(cell.said)}`];
  });
}

/** Without what is another at each run, and without a stack. */
function shown(text: string): string {
  return text
    .replace(/ at \S+ \(.*$/, "")
    .replaceAll(/http:\/\/localhost:\d+\S*/g, "URL")
    .replaceAll(/\[\d+\] /g, "")
    .replaceAll("`", "'")
    .slice(0, 240)
    .trimEnd();
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
