// Writes docs/api-options.md: the options of what authors define, in the words of the docstrings that editors show.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const SRC = join(import.meta.dirname, "../../src");

/** The interfaces whose members a section lists, with their files. The option itself may take only some of them. */
const SECTIONS: Readonly<
  Record<string, readonly (readonly [file: string, name: string, optional?: "all optional"])[]>
> = {
  "`defineTool`": [
    ["handlers/tool.ts", "ToolOptions"],
    ["handlers/access-rules.ts", "AccessRules"],
  ],
  "`resumable` of a tool": [["protocol/definition.ts", "Resumable", "all optional"]],
  "`definePrompt`": [
    ["handlers/prompt.ts", "PromptOptions"],
    ["handlers/access-rules.ts", "AccessRules"],
  ],
  "One of a prompt's `arguments`": [["handlers/prompt.ts", "PromptArgument"]],
  "`defineResource`": [
    ["handlers/resource.ts", "ResourceContentOptions"],
    ["handlers/resource.ts", "ResourceDescription"],
    ["handlers/access-rules.ts", "AccessRules"],
  ],
  "`defineTemplate`": [
    ["handlers/resource.ts", "TemplateOptions"],
    ["handlers/resource.ts", "ResourceDescription"],
    ["handlers/access-rules.ts", "AccessRules"],
  ],
  "`cache` of a resource or template": [["handlers/cache-hint.ts", "CacheOptions"]],
  "`createWorker`": [["app/create-worker.ts", "WorkerOptions"]],
  "`hooks` of `createWorker`": [["handlers/request-scope.ts", "Hooks"]],
  "A tenant in `tenants`": [["tenants/document/tenant-definition.ts", "TenantDefinitionOf"]],
  "`runTool`, `runPrompt`, `readFrom`, `listFrom`": [["testing/test-context.ts", "CaseOptions"]],
};

const HEAD = `# All options and their defaults

This page lists all options of definitions, of \`createWorker\` and of tests. Your editor shows the same texts. \`npm run reference\` writes the page from
the types. Era 2025 means the revisions with sessions, and era 2026 means 2026-07-28 (see [Words](words.md)).

\`\`\`ts
import { createWorker, defineTool } from "tenantry";

export const slow = defineTool({
  name: "slow_report",
  annotations: { readOnlyHint: true },
  timeoutMs: 300_000,
  resumable: true,
  handler: () => "done",
});

export * from "tenantry/objects";

export default createWorker({ name: "shop", tools: [slow], limits: { toolCalls: 100 } });
\`\`\`

An unknown option is refused. The message lists the options that exist.`;

export function optionsPage(): string {
  const sections = Object.entries(SECTIONS).map(([title, from]) => {
    const items = from.flatMap(([file, name, optional]) =>
      membersOf(readFileSync(join(SRC, file), "utf8"), name, optional !== undefined),
    );
    return `## ${title}\n\n${items.join("\n")}`;
  });
  return `${[HEAD, ...sections].join("\n\n")}\n`;
}

/** Throws for a member without a docstring. */
function membersOf(source: string, name: string, areOptional: boolean): readonly string[] {
  const [, body = ""] =
    new RegExp(`^(?:export )?interface ${name}\\b[\\s\\S]*?\\{\\n([\\s\\S]*?)^\\}`, "m").exec(source) ?? [];
  const members = [...body.matchAll(/(?:^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^ {2}(?:readonly )?(\w+)(\??)[:(]/gm)];
  if (members.length === 0) throw new Error(`no members of ${name}`);
  return members.flatMap(([, comment, member = "", optional]) => {
    if (comment === undefined) throw new Error(`${name}.${member} has no docstring`);
    const text = comment.replaceAll(/^ *\*? ?/gm, "").trim();
    if (text.startsWith("@deprecated")) return [];
    const required = areOptional || optional === "?" ? "" : " (required)";
    return [`- **\`${member}\`**${required}: ${text.replaceAll("\n", "\n  ")}`];
  });
}
