// Replays the founding documents: every message that vectors.json can assert by machine, in each of its modes, against
// the tenant `founding`; and holds docs/founding-documents.md to be a complete and true account of all of them.
// What is still to come is named in later.json, and must fail until it is there.

import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { sendRaw } from "../support/raw-http.ts";
import { createExchange } from "./exchange.ts";
import { FEDERATED, startFederation, type Federation } from "./federation.ts";
import awaitedEntries from "./later.json" with { type: "json" };
import { problemsOf, titleOf, VECTORS, vectorOf, type Vector } from "./vectors.ts";

const origin = fixtureOrigin();
const repository = new URL("../../", import.meta.url);

/** Where a vector goes; one that names another place is no single message. */
const TARGETS: Readonly<Record<string, string>> = {
  mcp: `${origin}/mcp/founding`,
  gateway: `${origin}/gateway/federated`,
  federated: `${origin}/mcp/federated`,
};
const later: readonly { readonly vector: string; readonly reason: string; readonly issue: string }[] = awaitedEntries;
const CAPABILITIES = ["bridging", "tenants"];

let federation: Federation;

beforeAll(async () => {
  federation = await startFederation(origin, fixtureAdmin(origin, FEDERATED));
});

afterAll(async () => {
  await federation.stop();
});

const exchanges = new Map(Object.entries(TARGETS).map(([to, url]) => [to, createExchange(url)]));
const replayed = VECTORS.filter((vector) => vector.assert && vector.to in TARGETS);
const awaited = new Map(later.map((entry) => [entry.vector, entry]));

/** The wrapped form has no eras of its own: it is sent as it stands. */
const modesOf = ({ to, modes }: Vector) => (to === "gateway" ? ["bare"] : modes);

async function replay(vector: Vector, mode: string): Promise<string[]> {
  const exchange = exchanges.get(vector.to);
  if (!exchange || !(await isServed(vector.to))) return [`nothing is served at ${TARGETS[vector.to]}`];
  try {
    return problemsOf(vector, mode, await exchange({ message: vector.request, raw: vector.raw }, mode));
  } catch (error) {
    return [String(error)];
  }
}

const served = new Map<string, Promise<boolean>>();

/** A refusal to serve a place at all may look like the refusal that a vector asks for. */
function isServed(to: string): Promise<boolean> {
  const known =
    served.get(to) ??
    sendRaw(TARGETS[to] ?? "", { headers: { "content-type": "application/json" }, body: "{}" }).then(
      ({ status }) => status !== 404,
    );
  served.set(to, known);
  return known;
}

describe("a message of the founding documents", () => {
  for (const vector of replayed) {
    test(titleOf(vector), async () => {
      const verdicts: Record<string, string[]> = {};
      for (const mode of modesOf(vector)) verdicts[mode] = await replay(vector, mode);
      const accepted = Object.keys(verdicts).filter((mode) => verdicts[mode]?.length === 0);
      if (awaited.has(titleOf(vector))) {
        expect(accepted, "modes that work now: take the vector out of later.json").toEqual([]);
      } else {
        expect(verdicts).toEqual(Object.fromEntries(modesOf(vector).map((mode) => [mode, []])));
      }
    });
  }
});

describe("later.json", () => {
  test("names vectors that are replayed, once each, with a reason and the capability that will bring them", () => {
    const titles = replayed.map(titleOf);
    expect(awaited.size).toBe(later.length);
    for (const { vector, reason, issue } of later) {
      expect(titles).toContain(vector);
      expect(reason).toMatch(/^[A-Z].{10,}\.$/);
      expect(CAPABILITIES).toContain(issue);
    }
  });
});

interface Row {
  readonly title: string;
  readonly rule: string;
  /** `replay`, `later: bridging`, or a test: its file and its title. */
  readonly shownBy: readonly string[];
}

const ROW = /^\| (\d{3}:\d+) +\| `([^`]+)` +\| (as written|translated|overruled) +\| ([^|]+?) +\| ([^|]+?) +\|$/;
const TEST = /^`(test\/[\w/-]+\.test\.ts)` "([^"]+)"$/;

function readRows(): Row[] {
  const text = readFileSync(new URL("docs/founding-documents.md", repository), "utf8");
  return text
    .split("\n")
    .filter((line) => line.startsWith("| 0"))
    .map((line) => {
      const [, where, name, , rule = "", shown = ""] = ROW.exec(line) ?? [];
      if (where === undefined) throw new Error(`docs/founding-documents.md has a row that does not parse:\n${line}`);
      return { title: `${where} ${name}`, rule, shownBy: shown.split("; ") };
    });
}

describe("docs/founding-documents.md", () => {
  const rows = readRows();

  test("has exactly one row for every vector, in their order", () => {
    expect(rows.map(({ title }) => title)).toEqual(VECTORS.map(titleOf));
  });

  test("says of every row by which rule, and what shows it", () => {
    for (const { title, rule, shownBy } of rows) {
      expect(rule, title).toMatch(/\w{2}/);
      for (const shown of shownBy) expect(shown, title).toMatch(/^replay$|^later: (bridging|tenants)$|^`test\//);
    }
  });

  test("says `replay` of exactly the vectors that are replayed with success", () => {
    const replays = rows.filter(({ shownBy }) => shownBy.includes("replay")).map(({ title }) => title);
    const succeeding = replayed.map(titleOf).filter((title) => !awaited.has(title));
    expect(replays.toSorted()).toEqual(succeeding.toSorted());
  });

  test("names the same capability as later.json where a vector waits for one", () => {
    for (const { vector, issue } of later) {
      expect(rows.find(({ title }) => title === vector)?.shownBy).toContain(`later: ${issue}`);
    }
  });

  test("names tests that exist under the titles it quotes", () => {
    for (const shown of rows.flatMap(({ shownBy }) => shownBy).filter((text) => text.startsWith("`"))) {
      const [, path = "", title = ""] = TEST.exec(shown) ?? [];
      expect(path, shown).not.toBe("");
      const url = new URL(path, repository);
      expect(existsSync(url), path).toBe(true);
      expect(readFileSync(url, "utf8"), path).toContain(`"${title}"`);
    }
  });

  test("shows every statement that needs more than one message by a test of its own, or says what will", () => {
    for (const { title, shownBy } of rows.filter((row) => !replayed.includes(vectorOf(row.title)))) {
      expect(
        shownBy.filter((shown) => /^(later: |`test\/)/.test(shown)),
        title,
      ).not.toEqual([]);
    }
  });
});
