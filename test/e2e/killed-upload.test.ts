// The local server dies in the middle of an upload, as in a power cut: the command says how to go on, and the same command
// over the same storage ends with everything there once.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Application, startApplication } from "../support/application.ts";
import { CommandLine } from "../support/command-line.ts";
import { makeFiles, sha256, uriOf, writeFolder } from "./sample-files.ts";
import { sized } from "../support/tier.ts";

interface Stored {
  uri: string;
  sha256: string;
}

const ROOT = join(import.meta.dirname, "../..");
const PREFIX = "docs://";
const ALL = sized({ usual: 150, long: 1000 });
const FILES = makeFiles("all", ALL);
const ENOUGH = ALL * 0.3;

test("an upload that the server's death cuts off is finished by the same command, and nothing is there twice", async () => {
  const folder = await mkdtemp(join(tmpdir(), "killed-upload-"));
  const storage = join(folder, "state");
  await writeFolder(join(folder, "site"), FILES);
  let application = await startApplication(storage);
  onTestFinished(async () => {
    await application.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  });
  const cli = new CommandLine(ROOT, { HOME: folder, TENANTRY_URL: application.origin });
  const command = ["resource", "put", "acme", join(folder, "site"), "--prefix", PREFIX];
  await cli.print("tenant", "create", "acme", "--mode", "open");

  const upload = cli.execute(command);
  expect(await arrived(application, ENOUGH)).toBeLessThan(FILES.length);
  await application.kill();
  const { exit, stdout, stderr } = await upload;
  expect({ exit, stdout }).toEqual({ exit: 6, stdout: "" });
  expect(stderr).toMatch(
    /^tenantry: cannot reach http:\S+: .+ \(\d+ of \d+ are stored; run the same command again to send the rest\)\n$/,
  );
  const [said = 0, of] = /\((\d+) of (\d+)/.exec(stderr)?.slice(1).map(Number) ?? [];
  expect(of).toBe(ALL);

  application = await startApplication(storage, Number(new URL(application.origin).port));
  // What was acknowledged before the power went is there.
  const before = await storedIn(cli);
  expect(before.length).toBeGreaterThanOrEqual(said);
  const again = await cli.print(...command);
  expect(again).toBe(`${ALL} files: ${ALL - before.length} uploaded, ${before.length} unchanged\n`);
  expect(await cli.print(...command)).toBe(`${ALL} files: 0 uploaded, ${ALL} unchanged\n`);
  const expected = FILES.map((one) => ({ uri: uriOf(PREFIX, one), sha256: sha256(one.body) }));
  expect(await storedIn(cli)).toEqual(expected.toSorted((a, b) => (a.uri < b.uri ? -1 : 1)));
  expect(await usage(application)).toMatchObject({
    resources: FILES.length,
    resourceBytes: FILES.reduce((sum, { body }) => sum + body.byteLength, 0),
  });
  // The bodies too, of those that were there when the power went and of those that were not.
  await cli.print("resource", "get", "acme", "--prefix", PREFIX, "-o", join(folder, "back"));
  for (const { name, body } of FILES) expect(await readFile(join(folder, "back", name))).toEqual(body);
});

/** Asks the server itself, as often as it answers, until so many are stored; settles with how many. */
async function arrived(application: Application, enough: number): Promise<number> {
  for (;;) {
    const { resources } = await usage(application);
    if (resources >= enough) return resources;
  }
}

async function usage(application: Application): Promise<{ resources: number; resourceBytes: number }> {
  const answer = await fetch(new URL("/admin/v1/tenants/acme/usage", application.origin), {
    headers: { authorization: `Bearer ${application.adminToken}` },
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { resources: number; resourceBytes: number };
}

async function storedIn(cli: CommandLine): Promise<Stored[]> {
  const all = JSON.parse(await cli.print("resource", "list", "acme", "--json")) as Stored[];
  return all.map(({ uri, sha256: hash }) => ({ uri, sha256: hash }));
}
