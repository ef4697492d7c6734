// Owns how this program is called from where it runs, so that the commands in its messages can be typed there as they stand: in a
// checkout by `npm run`, in a project by `npx`. Refuses to touch results, and what a program reads.

type Environment = Readonly<Record<string, string | undefined>>;

/** Any command of ours; what is said of "a tenantry server" is none. */
const COMMAND = /(?<![\w./@-])(?:npx )?tenantry (?!server\b)(?=[a-z])/g;

export function rewriteInvocation(text: string, env: Environment): string {
  const invocation = detectInvocation(env);
  return invocation === undefined ? text : text.replaceAll(COMMAND, `${invocation} `);
}

/** npm says which script it runs, and of `npx` the whole line. */
function detectInvocation({
  npm_lifecycle_event: script,
  npm_lifecycle_script: line = "",
}: Environment): string | undefined {
  if (script === "tenantry") return "npm run -s tenantry --";
  return script === "npx" && /^["']?tenantry\b/.test(line) ? "npx tenantry" : undefined;
}
