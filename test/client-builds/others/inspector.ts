// Drives the Inspector's command line: each step is a run of its own, whose answer is printed as JSON.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { byKey } from "../../support/login-browser.ts";
import { drive, type Session } from "../session.ts";

const PROGRAM = join(
  import.meta.dirname,
  "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
);

async function run(
  args: readonly string[],
  signIn?: (url: URL) => Promise<unknown>,
): Promise<{ readonly tools?: readonly { readonly name: string }[] }> {
  const child = spawn(process.execPath, [PROGRAM, "--cli", ...args], {
    // As at a terminal, where it may ask a person; and what it keeps it keeps in its home.
    env: { ...process.env, MCP_AUTO_OPEN_ENABLED: "true", MCP_INSPECTOR_SECRET_STORE: "file" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    texts.push(line);
    const [found] = /https?:\/\/\S+[?&]response_type=code\S*/.exec(line) ?? [];
    if (found !== undefined) void signIn?.(new URL(found));
  });
  const [answered] = await Promise.all([text(child.stdout), once(child, "exit")]);
  if (child.exitCode !== 0) {
    // What it says of its store of secrets is about this machine.
    const lines = texts.filter((line) => !line.startsWith("[mcp-inspector]"));
    throw new Error(lines.join("\n") || answered);
  }
  return JSON.parse(answered);
}

function sessionOf(url: string, more: readonly string[], signIn?: (url: URL) => Promise<unknown>): Session {
  const ask = (method: string, ...args: string[]) =>
    run([url, "--transport", "http", "--method", method, ...args, ...more], signIn);
  return {
    list: async () => (await ask("tools/list")).tools?.map(({ name }) => name) ?? [],
    call: (name, args) => {
      const pairs = Object.entries(args).map(([member, value]) => `${member}=${String(value)}`);
      return ask("tools/call", "--tool-name", name, ...pairs.flatMap((pair) => ["--tool-arg", pair]));
    },
    read: (uri) => ask("resources/read", "--uri", uri),
    prompt: (name) => ask("prompts/get", "--prompt-name", name),
    close: async () => undefined,
  };
}

async function callbackUrl(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return `http://127.0.0.1:${port}/oauth/callback`;
}

await drive({
  connect: async (url, key) => sessionOf(url, key === undefined ? [] : ["--header", `Authorization: Bearer ${key}`]),
  logIn: async (url, key) => {
    const back = await callbackUrl();
    const signIn = async (asked: URL) => fetch(await byKey(key, back)(asked));
    return sessionOf(url, ["--callback-url", back], signIn);
  },
});
