// `npm start`: the application on this machine, with storage that survives a restart. Arguments go to `wrangler dev`.

import { spawn } from "node:child_process";

const args = process.argv.slice(2);
const port = args[args.indexOf("--port") + 1] ?? "";
const given = args.includes("--port") && /^\d+$/.test(port);
const url = `http://localhost:${given ? port : "8787"}/mcp/demo`;

const child = spawn(
  "wrangler",
  [
    "dev",
    ...(given ? [] : ["--port", "8787"]),
    "--show-interactive-dev-session=false",
    "--inspector-port=0",
    "--persist-to=.wrangler/state",
    "--log-level=warn",
    // Only these names reach a Worker on this machine: a page elsewhere cannot get in by rebinding its own.
    "--var=HOSTS:localhost,127.0.0.1,[::1]",
    ...args,
  ],
  { stdio: "inherit", env: { ...process.env, WRANGLER_SEND_METRICS: "false" } },
);

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
child.on("exit", (code) => process.exit(code ?? 0));
child.on("error", (error) => {
  console.error(`wrangler could not be started (${error.message}); run npm ci first`);
  process.exit(1);
});

for (let tries = 0; tries < 240; tries += 1) {
  const ready = await fetch(url.replace(/\/mcp.*/, "/healthz"))
    .then((response) => response.ok)
    .catch(() => false);
  if (ready) {
    console.log(
      `\n  MCP endpoint   ${url}\n  In a browser   the same address shows how to connect\n  Stop           Ctrl+C\n`,
    );
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 250));
}
