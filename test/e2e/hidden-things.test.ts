// What a view cannot see has no influence on what it is told: the same requests to two worlds that show the same, of which
// one has more behind it. Bytes, order and headers.

import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { methodsOf } from "../../src/protocol/dispatch.ts";
import { REVISIONS, requestsOf, type ListedSchema, type PairRequest } from "./hidden-things/requests.ts";
import {
  hiddenId,
  hiddenText,
  VIEWS,
  startFixtures,
  visibleId,
  type HiddenFixture,
  type ViewName,
} from "./hidden-things/fixture.ts";
import { comparableHeaders } from "../support/comparable-headers.ts";
import { openEvents, type EventReader } from "../support/event-reader.ts";
import { client2025, type Json } from "../support/mcp-client.ts";
import { write } from "../support/raw-http.ts";
import { SEED } from "../support/seed.ts";
import { sized } from "../support/tier.ts";

const PAIRS = sized({ usual: 300, long: 1500, soak: 10_000 });

let fixtures: readonly [HiddenFixture, HiddenFixture];
beforeAll(async () => {
  fixtures = await startFixtures();
});
afterAll(async () => {
  await Promise.all(fixtures.map(({ stop }) => stop()));
});

/** Everything that is random by nature, and nothing else: where a world is, when it wrote, what it sealed. */
const RANDOM: readonly (readonly [what: RegExp, instead: string])[] = [
  [/http:\/\/127\.0\.0\.1:\d+/g, "ORIGIN"],
  [/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, "TIME"],
];
const SEALED = /[0-9a-f]{8}\.[A-Za-z0-9_-]{30,}/g;

const plain = (text: string) =>
  RANDOM.reduce((left, [what, instead]) => left.replaceAll(what, instead), text).replaceAll(
    SEALED,
    (sealed) => `SEALED ${sealed.length}`,
  );

interface Received {
  readonly text: string;
  readonly shown: string;
}

async function send(fixture: HiddenFixture, { revision, view, method, params }: PairRequest): Promise<Received> {
  const { headers, body } = write(revision, method, params);
  const init = { method: "POST", headers: { ...headers, ...fixture.headers(view) }, body: JSON.stringify(body) };
  const response = await fetch(fixture.url(view), init);
  const text = await response.text();
  return { text, shown: plain(JSON.stringify([response.status, comparableHeaders(response.headers), text])) };
}

/** Cursors that both worlds gave, by view and by the list that they are of. */
const given = new Map<string, (readonly [string, string])[]>();
const listOf = ({ view, method, params }: PairRequest) => `${view} ${method} ${JSON.stringify(params["name"])}`;
const cursorIn = (text: string) => /\\?"nextCursor\\?":\\?"([^"\\]+)/.exec(text)?.[1];

/** The value with this cursor wherever one is wanted; without a cursor there is no such member. */
function withCursor(value: unknown, cursor: string | undefined): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value === "CURSOR" ? cursor : value;
  const members = Object.entries(value).map(([name, item]) => [name, withCursor(item, cursor)] as const);
  return Object.fromEntries(members.filter(([, item]) => item !== undefined));
}

function resumed(request: PairRequest, fixture: 0 | 1): PairRequest {
  const known = given.get(listOf(request)) ?? [];
  const cursor =
    request.resumes === undefined ? undefined : known[request.resumes % Math.max(1, known.length)]?.[fixture];
  return { ...request, params: withCursor(request.params, cursor) as Json };
}

function firstDifference(one: string, other: string) {
  if (one === other) return undefined;
  const same = one.split("").findIndex((character, place) => character !== other[place]);
  const from = Math.max(0, same - 60);
  return { without: one.slice(from, from + 200), crowded: other.slice(from, from + 200) };
}

let compared = 0;

async function compare(request: PairRequest): Promise<void> {
  const [without, crowded] = fixtures;
  if (request.stirs !== undefined) await crowded.store(hiddenId(request.stirs), hiddenText(request.stirs + compared));
  const [a, b] = await Promise.all([send(without, resumed(request, 0)), send(crowded, resumed(request, 1))]);
  const differs = firstDifference(a.shown, b.shown);
  if (differs !== undefined) expect({ request, ...differs }).toBe("told the same");
  const cursors = [cursorIn(a.text), cursorIn(b.text)] as const;
  if (cursors[0] !== undefined && cursors[1] !== undefined) {
    given.set(listOf(request), [...(given.get(listOf(request)) ?? []).slice(-20), [cursors[0], cursors[1]]]);
  }
  compared += 1;
}

async function toolsOf(view: ViewName): Promise<readonly ListedSchema[]> {
  const asked = {
    revision: "2025-11-25",
    view,
    method: "tools/list",
    params: {},
    resumes: undefined,
    stirs: undefined,
  } as const;
  const [{ text }] = (await Promise.all(fixtures.map(async (fixture) => send(fixture, asked)))) as [Received];
  return (JSON.parse(text) as { result: { tools: ListedSchema[] } }).result.tools;
}

test("whoever cannot see it is told the same with it and without it", async () => {
  const methods = { "2025-11-25": methodsOf("2025"), "2026-07-28": methodsOf("2026") };
  const [tools = []] = await Promise.all(VIEWS.map(async (view) => toolsOf(view)));
  expect(tools.length).toBeGreaterThanOrEqual(6);
  const { each, any } = requestsOf(methods, tools);
  const requests = [
    ...each.flatMap((one) => fc.sample(one, { ...SEED, numRuns: 2 })),
    ...fc.sample(any, { ...SEED, numRuns: PAIRS }),
  ];
  for (const request of requests) await compare(request);
  expect(each.length).toBe(REVISIONS.flatMap((revision) => methods[revision]).length);
  console.log(`${compared} pairs`);
});

/** Each event as it is on the wire, up to the one that tells of this URI; ids are sealed. */
async function heardUntil(events: EventReader, uri: string): Promise<string[]> {
  const requests: string[] = [];
  for (let event = await events.next(); event; event = await events.next()) {
    requests.push(plain(JSON.stringify(event)));
    if (event.data.includes(uri) && event.data.includes("resources/updated")) return requests;
  }
  throw new Error(`the stream ended before ${uri}`);
}

const LISTENED = [visibleId(0), hiddenId(1), hiddenId(2)].map((id) => `note://${id}`);

async function listen(fixture: HiddenFixture, view: ViewName): Promise<EventReader> {
  const notifications = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: LISTENED,
  };
  const { headers, body } = write("2026-07-28", "subscriptions/listen", { notifications });
  const init = { method: "POST", headers: { ...headers, ...fixture.headers(view) }, body: JSON.stringify(body) };
  return openEvents(fixture.url(view), init);
}

async function stand(fixture: HiddenFixture, view: ViewName): Promise<EventReader> {
  const client = await client2025(fixture.url(view), "2025-11-25", {}, fixture.headers(view));
  for (const uri of LISTENED) await client.request("resources/subscribe", { uri });
  return openEvents(fixture.url(view), { headers: { ...client.headers, accept: "text/event-stream" } });
}

test.each([
  ["subscriptions/listen", listen],
  ["a session's stream", stand],
])("%s tells nothing of what is hidden, nor that it changed", async (_what, open) => {
  for (const view of VIEWS) {
    const streams = await Promise.all(fixtures.map(async (fixture) => open(fixture, view)));
    const requests: string[][] = fixtures.map(() => []);
    for (let round = 0; round < 4; round += 1) {
      for (let at = 0; at < round + 1; at += 1) await fixtures[1].store(hiddenId(at), `${hiddenText(at)} ${round}`);
      const notifications = await Promise.all(
        fixtures.map(async (fixture, which) => {
          await fixture.store(visibleId(0), `apple of round ${view} ${round}`);
          return heardUntil(streams[which] as EventReader, LISTENED[0] as string);
        }),
      );
      for (const [which, events] of notifications.entries()) requests[which]?.push(...events);
    }
    expect(requests[1]).toEqual(requests[0]);
    await Promise.all(streams.map(async (stream) => stream.close()));
  }
});
