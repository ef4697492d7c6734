// The lock of the command line's configuration was taken from whoever had it for 60 s, while a renewal may take 90 s: two programs
// used one refresh token, and the sign-in ended. Ctrl+C was ignored while a command waited for it.

import { mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { processIdentityOf } from "../../src/cli/local/process-identity.ts";
import { commandLine } from "../support/command-line.ts";

test.each([0, 90, 3600])(
  "a program that has it for %i s keeps it, and whoever waits can be interrupted",
  async (age) => {
    const { admin, cli, folder } = await commandLine();
    const file = join(folder, ".config/tenantry/config.json");
    const config = JSON.stringify({ tokens: { [admin.url]: "fake-owner-token" } });
    const lock = JSON.stringify(processIdentityOf(process.pid));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, config);
    await writeFile(`${file}.lock`, lock);
    const since = new Date(Date.now() - age * 1000);
    await utimes(`${file}.lock`, since, since);
    const { exit, stderr } = await cli.run(["logout"], { signal: AbortSignal.abort() });
    expect([exit, stderr]).toEqual([130, "tenantry: interrupted\n"]);
    expect([await readFile(file, "utf8"), await readFile(`${file}.lock`, "utf8")]).toEqual([config, lock]);
  },
);
