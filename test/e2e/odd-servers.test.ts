// Servers that work, but for one thing: the gateway does no worse with them than the official clients, where no row says so.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CommandLine, type Ended } from "../support/command-line.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startGatewayWorker } from "../support/gateway-tenant.ts";
import { measureAll, type Measured } from "./odd-servers/measure.ts";
import { KINDS, ROWS } from "./odd-servers/odd-kinds.ts";
import { LISTS, type Demand, type OddRow } from "./odd-servers/odd-row.ts";
import { startOddServers, type OddServers } from "./odd-servers/odd-server.ts";
import { cellOf, worseParts, type Outcome } from "./odd-servers/outcome.ts";

const HOUR_MS = 3_600_000;

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "odd");

const PLAIN: OddRow = { id: "plain", what: "nothing", also: ["get", "read"], odd: (asked) => asked.asUsual() };

let servers: OddServers;
let measured: ReadonlyMap<string, Measured>;
let tenants: ReadonlyMap<string, string>;

beforeAll(async () => {
  const rows = [PLAIN, ...ROWS];
  servers = await startOddServers(rows);
  ({ measured, tenants } = await measureAll({ origin, admin }, rows, servers));
}, HOUR_MS);

afterAll(() => servers.stop());

function measuredOf({ id }: OddRow): Measured {
  const found = measured.get(id);
  if (!found) throw new Error(`${id} was not measured`);
  return found;
}

/** Beside a failure. */
function told({ "1.x": first, "2.x": second, gateway }: Measured): string {
  const lines = Object.entries({ "1.x": first, "2.x": second, gateway }).map(
    ([way, outcome]) => `${way}: ${cellOf(outcome)} [${outcome.said.join("; ")}]`,
  );
  return lines.join("\n");
}

async function doctor(row: OddRow): Promise<Ended> {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-odd-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return new CommandLine(folder, { HOME: folder }).run(["doctor", servers.urlOf(row)]);
}

/** What a person is told who examines the server, or has the gateway connect to it. */
async function examined(row: OddRow): Promise<string> {
  const tested = admin.ask("POST", `/tenants/${tenants.get(row.id)}/upstreams/${row.id}/test`);
  const { stdout, stderr } = await doctor(row);
  return [stdout, stderr, JSON.stringify(await tested)].join("\n");
}

test("a server without an oddity works by every way, and doctor has nothing against it", async () => {
  const all = measuredOf(PLAIN);
  expect(Object.values(all).map((outcome: Outcome) => cellOf(outcome))).toEqual(["works", "works", "works"]);
  expect(await doctor(PLAIN)).toMatchObject({ exit: 0, stdout: expect.not.stringContaining("FAIL") as string });
});

describe.each(KINDS)("$kind:", ({ rows }) => {
  const titled = rows.map((row) => ({ ...row, title: row.list ? `${row.what} (${row.list})` : row.what }));
  test.each(titled)("$title", async (row) => {
    const all = measuredOf(row);
    const isRefused = row.gateway?.callFails !== undefined;
    const parts = worseParts(all.gateway, all["1.x"], all["2.x"]);
    const worse = parts.filter((part) => !(isRefused && part === "call"));
    if (row.gateway) expectDemand(row, row.gateway, all);
    if (row.worse === undefined) return expect(worse, told(all)).toEqual([]);
    expect(worse, `is not worse any more:\n${told(all)}`).not.toEqual([]);
    expect(await examined(row)).toContain(row.worse);
  });
});

function expectDemand(row: OddRow, { works, others, callFails, missing, saysWords }: Demand, all: Measured): void {
  const { gateway } = all;
  const beside = told(all);
  if (works) expect(cellOf(gateway), beside).toBe("works");
  if (others) expect(lostBeside(row, gateway), beside).toEqual([]);
  if (callFails) {
    expect(gateway.answers.call, beside).toMatch(/error|words/);
    expect(gateway.said.join("\n"), beside).toMatch(callFails);
  }
  if (missing) expect(gateway.why, beside).toMatch(missing);
  if (saysWords) expect(gateway.why, beside).toContain(row.words);
}

function lostBeside({ list }: OddRow, { isConnected, lists, answers }: Outcome): readonly string[] {
  const lost = LISTS.filter((one) => one !== list && lists[one] !== "all").map(String);
  if (list !== "tools" && answers.call !== "went") lost.push("call");
  return isConnected ? lost : ["connection", ...lost];
}
