// Opens a page in the user's browser. Opening may fail silently, so callers also print the URL.

import { spawn } from "node:child_process";
import type { Terminal } from "../terminal/terminal.ts";

type Env = Terminal["env"];

/**
 * The command that opens a URL appended to its arguments; undefined: the user would not see the browser, as over
 * SSH.
 */
export function browserCommand(env: Env, platform: string = process.platform): readonly string[] | undefined {
  if (env["BROWSER"]) return [env["BROWSER"]];
  if (env["SSH_CONNECTION"] || env["SSH_TTY"]) return undefined;
  if (platform === "darwin") return ["open"];
  // `start` would pass the URL through the shell, which interprets it.
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : undefined;
}

export function openBrowser([command = "", ...args]: readonly string[], url: string, env: Env): void {
  const child = spawn(command, [...args, url], { detached: true, stdio: "ignore", env });
  child.on("error", () => {});
  child.unref();
}
