// Mcp-remote as a client that only starts programs runs it, and the person whom it sends to the tenant's login.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { onTestFinished } from "vitest";
import { FOREIGN } from "../support/foreign-servers.ts";
import { byKey } from "../support/login-browser.ts";

export interface RemoteOptions {
  /** Options of mcp-remote. */
  readonly args?: readonly string[];
  /** Options of Node. */
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Remote {
  /** How often a person had to log in. */
  opened(): number;
  start(): Promise<Client>;
}

/** With one home for all its starts. The person pastes the key. */
export function remoteAt(url: string, key: string, { args = [], nodeArgs = [], env = {} }: RemoteOptions = {}): Remote {
  const home = mkdtempSync(join(tmpdir(), "tenantry-home-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  let opened = 0;
  const signIn = async (at: URL) => {
    opened += 1;
    const to = await byKey(key, at.searchParams.get("redirect_uri") ?? "")(at);
    const { ok, status } = await fetch(to);
    if (!ok) throw new Error(`mcp-remote answered its person ${status}`);
  };
  const start = async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [...nodeArgs, join(FOREIGN, "node_modules/mcp-remote/dist/proxy.js"), url, ...args],
      // Nothing is found in an empty PATH that could open a browser.
      env: { HOME: home, PATH: "", ...env },
      stderr: "pipe",
    });
    createInterface({ input: transport.stderr as Readable }).on("line", (line) => {
      const [found] = /https?:\/\/\S+[?&]response_type=code\S*/.exec(line) ?? [];
      if (found !== undefined) void signIn(new URL(found));
    });
    const client = new Client({ name: "remote-login-test", version: "1" });
    onTestFinished(() => client.close());
    await client.connect(transport);
    return client;
  };
  return { opened: () => opened, start };
}
