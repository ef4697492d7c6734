// Owns opening a page in the browser of whoever sits there. Refuses to say that it was opened: what shows it may fail
// without a word, so the address is printed, too.

import { spawn } from "node:child_process";
import type { Terminal } from "../terminal/terminal.ts";

type Env = Terminal["env"];

/** A program that opens the address that follows its arguments; undefined: nobody here would see what it opens. */
export function browserCommand(env: Env, platform: string = process.platform): readonly string[] | undefined {
  if (env["BROWSER"]) return [env["BROWSER"]];
  if (env["SSH_CONNECTION"] || env["SSH_TTY"]) return undefined;
  if (platform === "darwin") return ["open"];
  // Not `start`, which is the shell's: to it an address is words and signs.
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : undefined;
}

export function openBrowser([command = "", ...args]: readonly string[], url: string, env: Env): void {
  const child = spawn(command, [...args, url], { detached: true, stdio: "ignore", env });
  child.on("error", () => {});
  child.unref();
}
