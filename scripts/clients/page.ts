// docs/clients-tried.md: what was seen of every build, what a client cannot do by itself and why, and what people are
// told who have a wrong key.

import { STEPS, type Build } from "./builds.ts";
import { isWrong, type Tried } from "./try-build.ts";

const HEAD = `# Clients that were tried

Written by \`npm run clients -- --write\`: builds of others' clients, each at the version that the lock below \`test/client-builds\` names, on a running
\`npm start\`. \`npm run clients\` tries them all again and fails where a cell is wrong; \`-- --only TEXT\` those whose name has it. What each client needs
to be told is in \`docs/clients.md\`.

- **list, call, read, prompt**: the tools of a tenant, a note that is written, read as a resource, and found in a prompt.
- **notification**: another note is written, and the client hears that the list of resources has changed.
- **right key**: a tenant of mode \`key\` lists its tools. **wrong key**: the same, with one character changed, ends in an error that says so, within 20 s.
- **login**: the client is refused, finds the tenant's login, registers, sends a person to it who pastes their key, and lists the tools.
- **-**: the client cannot do that by itself; why stands below.
`;

export function triedPage(tried: readonly Tried[]): string {
  if (tried.some(({ cells }) => Object.values(cells).some(isWrong)))
    throw new Error("a cell is wrong: nothing is written");
  const products = new Set(tried.map(({ build }) => build.product));
  return [
    HEAD,
    `${tried.length} builds of ${products.size} packages.\n`,
    table(tried),
    "\n## What a client cannot do by itself\n",
    ...reasons(tried),
    "\n## What a wrong key says\n",
    "As the error reads that the newest version of each throws, or prints:\n",
    ...wrongKeys(tried),
    "",
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
  const builds = new Map<string, Build[]>();
  for (const { build } of tried) {
    for (const [step, reason] of Object.entries(build.cannot)) {
      const text = `**${step}**: ${reason}`;
      builds.set(text, [...(builds.get(text) ?? []), build]);
    }
  }
  return [...builds].map(([text, of]) => `- ${text}: ${named(of)}`);
}

/** Each package once, with its versions. */
function named(builds: readonly Build[]): string {
  return [...Map.groupBy(builds, ({ product }) => product)]
    .map(([product, own]) => `\`${product}\` ${own.map(({ version }) => version).join(", ")}`)
    .join("; ");
}

function wrongKeys(tried: readonly Tried[]): readonly string[] {
  const newest = Map.groupBy(tried, ({ build }) => `${build.product} ${build.era ?? ""}`).values();
  return [...newest].flatMap((own) => {
    const { build, cells } = own.at(-1) ?? {};
    const cell = cells?.["wrong key"];
    if (!build || !cell || "cannot" in cell) return [];
    const era = build.era === undefined ? "" : `, era ${build.era}`;
    return [`- \`${build.product}\` ${build.version}${era}: \`${shown(cell.said)}\``];
  });
}

/** Without what is another at each run, and without a stack. */
function shown(text: string): string {
  return text
    .replace(/ at \S+ \(.*$/, "")
    .replaceAll(/http:\/\/localhost:\d+\S*/g, "URL")
    .replaceAll(/\[\d+\] /g, "")
    .replaceAll("`", "'")
    .slice(0, 240);
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
