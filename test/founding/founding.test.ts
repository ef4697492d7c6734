// Replays the founding documents: every message that vectors.json can assert by machine, in each of its modes, against
// the tenant `founding`. Which documents a revision overrules: docs/decisions/0007-two-eras-of-the-protocol.md.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { sendRaw } from "../support/raw-http.ts";
import { createExchange } from "./exchange.ts";
import { FEDERATED, startFederation, type Federation } from "./federation.ts";
import { problemsOf, titleOf, VECTORS, type Vector } from "./vectors.ts";

const origin = fixtureOrigin();

/** Where a vector goes; one that names another place is no single message. */
const TARGETS: Readonly<Record<string, string>> = {
  mcp: `${origin}/mcp/founding`,
  gateway: `${origin}/gateway/federated`,
  federated: `${origin}/mcp/federated`,
};

let federation: Federation;

beforeAll(async () => {
  federation = await startFederation(origin, fixtureAdmin(origin, FEDERATED));
});

afterAll(async () => {
  await federation.stop();
});

const exchanges = new Map(Object.entries(TARGETS).map(([to, url]) => [to, createExchange(url)]));
const replayed = VECTORS.filter((vector) => vector.assert && vector.to in TARGETS);

/** An envelope has no era: it is sent as it stands. */
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
      expect(verdicts).toEqual(Object.fromEntries(modesOf(vector).map((mode) => [mode, []])));
    });
  }
});
