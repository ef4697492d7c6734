// The check of calls that ask, by the official client in both eras: what is to happen once happens at most once, and a
// receipt is of what is stored.

import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { setTimeout as pause } from "node:timers/promises";
import { json, makeTenant, type Check, type Played, type Scene } from "../jitter/check.ts";
import { answeringV2, httpOptions, textOf, urlOf } from "../../support/official-clients.ts";
import { sized } from "../../support/tier.ts";

const CALLS = sized({ usual: 4, long: 8 });
const ERAS = ["2025", "2026"] as const;
const PATIENCE = { timeout: 20_000 };

interface Paid {
  readonly key: string;
  /** undefined: there was an error. */
  readonly text: string | undefined;
}

async function pay({ workers, tag }: Scene, era: (typeof ERAS)[number], at: number): Promise<Paid> {
  const key = `${era}-${at}`;
  for (let tries = 0; ; tries += 1) {
    const place = { origin: workers.origin(at + tries), tenant: tag };
    const client = answeringV2(era);
    try {
      await client.connect(new StreamableHTTPClientTransport(urlOf(place), httpOptions(place)));
    } catch (error) {
      await client.close();
      if (tries > 20) throw error;
      await pause(50);
      continue;
    }
    try {
      const result = await client.callTool({ name: "lab_pay", arguments: { key } }, PATIENCE);
      return { key, text: textOf(result) };
    } catch {
      return { key, text: undefined };
    } finally {
      await client.close();
    }
  }
}

async function judge({ workers, tag }: Scene, { key, text }: Paid): Promise<readonly string[]> {
  const prefix = `lab://payments/${key}/`;
  const listed = await workers.insist("GET", `/tenants/${tag}/resources?prefix=${encodeURIComponent(prefix)}`);
  const uris = ((json(listed)["items"] ?? []) as { uri: string }[]).map(({ uri }) => uri);
  const payments = uris.filter((uri) => uri.startsWith(prefix));
  if (payments.length > 1) return [`${key} was paid ${payments.length} times`];
  if (text === undefined) return [];
  const { receipt } = JSON.parse(text) as { receipt: string };
  return payments[0] === `${prefix}${receipt}` ? [] : [`${key} has the receipt ${text} of ${payments.join()}`];
}

async function play(scene: Scene): Promise<Played> {
  await makeTenant(scene, scene.tag);
  const paid = await scene.stormy(() =>
    Promise.all(
      ERAS.map(async (era) => {
        const all: Paid[] = [];
        for (let at = 0; at < CALLS; at += 1) all.push(await pay(scene, era, at));
        return all;
      }),
    ),
  );
  const violations = await Promise.all(paid.flat().map((one) => judge(scene, one)));
  return { operations: paid.flat().length, violations: violations.flat() };
}

export const questions: Check = {
  name: "questions",
  claim: "what is to happen once happens at most once, whatever fails between the questions",
  play,
};
