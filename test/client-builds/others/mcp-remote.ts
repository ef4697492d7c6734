// Drives mcp-remote, as a client that only starts programs runs it: its errors are what it prints.

import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ResourceListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { byKey } from "../../support/login-browser.ts";
import { drive, task, type Session } from "../session.ts";

const PROGRAM = join(import.meta.dirname, "node_modules", task.build, "dist/proxy.js");

async function connect(url: string, key?: string, signInWith?: string): Promise<Session> {
  const header = key === undefined ? [] : ["--header", `Authorization:Bearer ${key}`];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, url, "--allow-http", ...header],
    env: { HOME: process.env["HOME"] ?? "", PATH: "" },
    stderr: "pipe",
  });
  const lines: string[] = [];
  createInterface({ input: transport.stderr as Readable }).on("line", (line) => {
    lines.push(line);
    const [found] = /https?:\/\/\S+[?&]response_type=code\S*/.exec(line) ?? [];
    if (found === undefined || signInWith === undefined) return;
    const back = new URL(found).searchParams.get("redirect_uri") ?? "";
    void byKey(signInWith, back)(new URL(found)).then((to) => fetch(to));
  });
  const client = new Client({ name: `build-${task.build}`, version: "1" });
  try {
    await client.connect(transport);
  } catch (error) {
    await client.close();
    throw new Error(lines.filter((line) => /error/i.test(line)).join("\n"), { cause: error });
  }
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    read: (uri) => client.readResource({ uri }),
    prompt: (name) => client.getPrompt({ name }),
    onChange: (onNotification) => client.setNotificationHandler(ResourceListChangedNotificationSchema, onNotification),
    close: () => client.close(),
  };
}

await drive({ connect, logIn: (url, key) => connect(url, undefined, key) });
