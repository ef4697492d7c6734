// Adapts commands in messages to how this program was started, so that users can copy them: `npm run` in a checkout,
// `npx` in a project. Results and machine-readable output stay unchanged.

type Environment = Readonly<Record<string, string | undefined>>;

/** Any tenantry command; "a tenantry server" in a sentence is not one. */
const COMMAND = /(?<![\w./@-])(?:npx )?tenantry (?!(?:server|checkout|from)\b)(?=[a-z])/g;

export function rewriteInvocation(text: string, env: Environment): string {
  const invocation = detectInvocation(env);
  return invocation === undefined ? text : text.replaceAll(COMMAND, `${invocation} `);
}

/** npm passes the name of the script, and for `npx` the whole command line. */
function detectInvocation({
  npm_lifecycle_event: script,
  npm_lifecycle_script: line = "",
}: Environment): string | undefined {
  if (script === "tenantry") return "npm run -s tenantry --";
  return script === "npx" && /^["']?tenantry\b/.test(line) ? "npx tenantry" : undefined;
}
