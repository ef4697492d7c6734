// The check of calls that outlive their connections: of the events of their POST none is lost and none comes twice,
// whatever fails, and through whichever Worker a client comes back.

import { setTimeout as pause } from "node:timers/promises";
import { ResumableCall } from "../../support/resumable-call.ts";
import { makeTenant, type Check, type Played, type Scene } from "../jitter/check.ts";
import { client2025, type Client } from "../../support/mcp-client.ts";
import { sized } from "../../support/tier.ts";

const CALLS = sized({ usual: 4, long: 8 });
const IN_ROW = sized({ usual: 2, long: 4 });
const REPORTS = 12;
const EVERY_MS = 40;
const EACH_STREAM = 5;
const RESUMES = 60;

async function begin(scene: Scene, at: number): Promise<{ readonly client: Client; readonly call: ResumableCall }> {
  const params = {
    name: "lab_report",
    arguments: { reports: REPORTS, everyMs: EVERY_MS },
    _meta: { progressToken: `token-${at}` },
  };
  for (let tries = 0; ; tries += 1) {
    try {
      const url = `${scene.workers.origin(at + tries)}/mcp/${scene.tag}`;
      const client = await client2025(url);
      return { client, call: await ResumableCall.begin(url, client, { id: `call-${at}`, params }) };
    } catch (error) {
      if (tries > 30) throw error;
      await pause(100);
    }
  }
}

/** Where it may go on; a place that is busy is asked again. */
async function resume({ workers, tag }: Scene, call: ResumableCall, at: number): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await call.resume(`${workers.origin(at + tries)}/mcp/${tag}`);
      return;
    } catch (error) {
      if (tries > RESUMES) throw error;
      await pause(100);
    }
  }
}

async function follow(scene: Scene, at: number): Promise<readonly string[]> {
  const { call } = await begin(scene, at);
  for (;;) {
    const message = await call.next();
    if (message && ("result" in message || "error" in message)) break;
    if (!message && call.lastEventId === "") return [];
    if (!message || call.events.length % EACH_STREAM === 0) await resume(scene, call, at + call.streams);
  }
  await call.drop();
  return judge(call);
}

function judge({ events, streams }: ResumableCall): readonly string[] {
  const notifications = events.map(({ message }) =>
    "params" in message ? String((message.params as { progress?: number }).progress) : JSON.stringify(message),
  );
  const last = notifications.pop() ?? "";
  const whole = Array.from({ length: REPORTS }, (_none, report) => String(report + 1)).join();
  // Whether it had to fail is for its answer to say.
  const isRight = last.includes('"error"')
    ? whole.startsWith(notifications.join())
    : notifications.join() === whole && last.includes(`${REPORTS} reports`);
  return isRight ? [] : [`of ${REPORTS} reports came ${notifications.join()}, then ${last}, over ${streams} streams`];
}

async function play(scene: Scene): Promise<Played> {
  await makeTenant(scene, scene.tag);
  const lanes = Array.from({ length: CALLS }, (_none, lane) => lane);
  const violations = await scene.stormy(() =>
    Promise.all(
      lanes.map(async (lane) => {
        const found: string[] = [];
        for (let at = 0; at < IN_ROW; at += 1) found.push(...(await follow(scene, lane * IN_ROW + at)));
        return found;
      }),
    ),
  );
  return { operations: CALLS * IN_ROW, violations: violations.flat() };
}

export const reports: Check = {
  name: "reports",
  claim: "the events of a POST come once and in order, over as many streams as it takes",
  play,
};
