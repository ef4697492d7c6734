// A body that is not JSON may be a secret or hold one.

import { expect, it } from "vitest";
import type { Infer, Problem } from "../../src/admin/contract.ts";
import { jsonSchemaOf } from "../../src/admin/schema-parts.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";
import { ROUTES } from "../../src/admin/routes/all-routes.ts";
import { ask, newTenant, rules, send } from "../support/workerd/admin.ts";

const VALUE = "Zq9xWv7kRt5p";
const WHOLE = JSON.stringify({ value: VALUE, note: VALUE });
const JSON_TYPE = { "content-type": "application/json" };
const PIECES = Array.from({ length: VALUE.length - 2 }, (_, at) => VALUE.slice(at, at + 3));

/** Cut off, with a quote or a bracket too many, or with a character that no JSON has there: at each place. */
function* brokenBodies(): Generator<string> {
  for (let at = 0; at < WHOLE.length; at += 1) {
    yield WHOLE.slice(0, at);
    for (const wrong of ['"', "}", "\u0001", "\\u12"]) yield `${WHOLE.slice(0, at)}${wrong}${WHOLE.slice(at)}`;
    yield `${WHOLE.slice(0, at)}${WHOLE.slice(at + 1)}`;
  }
  yield VALUE;
  yield `'${VALUE}'`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

it("a secret that is sent as broken JSON is nowhere in the answer", async () => {
  const id = await newTenant();
  const bodies = [...brokenBodies()].filter((body) => !isJson(body));
  expect(bodies.length).toBeGreaterThan(100);
  for (const body of bodies) {
    const { status, text } = await ask("PUT", `/tenants/${id}/secrets/TOKEN`, { body, headers: JSON_TYPE });
    expect(status, body).toBe(400);
    expect(
      PIECES.filter((piece) => text.includes(piece)),
      `${body} is answered ${text}`,
    ).toEqual([]);
  }
});

const TAKING_JSON = ROUTES.filter(({ body, isForKeys }) => body !== undefined && body !== "stream" && !isForKeys);
const placeOf = (path: string, id: string) => path.replace("{id}", id).replaceAll(/\{\w+\}/g, "x");

it("no route repeats a piece of a broken body", async () => {
  const id = await newTenant();
  for (const { method, path } of TAKING_JSON) {
    const response = await send(method, placeOf(path, id), { body: VALUE, headers: JSON_TYPE });
    const text = await response.text();
    expect(response.status, path).toBeGreaterThanOrEqual(400);
    expect(
      PIECES.filter((piece) => text.includes(piece)),
      `${path}: ${text}`,
    ).toEqual([]);
  }
});

it("a truncated body is a client error at every route, and stores nothing", async () => {
  const id = await newTenant();
  for (const { method, path, body: taken, isForKeys } of ROUTES) {
    if (!taken || isForKeys) continue;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        controller.enqueue(new TextEncoder().encode(WHOLE.slice(0, 5)));
        controller.error(new TypeError("Network connection lost."));
      },
    });
    const query = path.endsWith("/resources/content") ? "?uri=note:a" : "";
    const place = `${placeOf(path, id)}${query}`;
    const refused = await ask(method, place, { body, headers: JSON_TYPE });
    // What the path names may be refused before.
    if (refused.status !== 404 && refused.status !== 422)
      expect([path, refused]).toMatchObject([path, { status: 400, body: { detail: "The body is incomplete" } }]);
    if (query) expect((await ask("GET", place)).status).toBe(404);
  }
});

/** Half of a pair at the end of a text, of a name, in a list and deep inside, and one that only looks like it. */
const HALVES: readonly (readonly [body: string, field: string])[] = [
  [String.raw`{"x":"a\ud800"}`, "x"],
  [String.raw`{"x":{"y":[1,"\uDFFFa"]}}`, "x.y.1"],
  [String.raw`{"a":1,"\ud83d":2}`, ""],
  [String.raw`{"note":"\\\ud83d"}`, "note"],
];

it("every route refuses half of a surrogate pair, with its field and the rule", async () => {
  const id = await newTenant();
  let said = 0;
  for (const { method, path } of TAKING_JSON) {
    for (const [body, field] of HALVES) {
      const refused = await ask(method, placeOf(path, id), { body, headers: JSON_TYPE });
      // What the path names may be refused before.
      if (refused.status === 404 || path.includes(`{${rules(refused)[1]?.[0]}}`)) continue;
      said += 1;
      expect(rules(refused), `${path} ${body}`).toEqual([
        422,
        [expect.stringContaining(field), "must be text without half of a surrogate pair"],
      ]);
    }
  }
  expect(said).toBeGreaterThan(HALVES.length);
});

it("a body may have whole surrogate pairs, and text that looks like half of one", async () => {
  const id = await newTenant();
  const body = String.raw`{"title":"\ud83d\ude00 \\ud83d"}`;
  expect((await ask("PUT", `/tenants/${id}/document`, { body, headers: JSON_TYPE })).status).toBe(200);
  expect((await ask("GET", `/tenants/${id}/document`)).body).toEqual({ title: "\u{1f600} \\ud83d" });
});

it("half of a surrogate pair in a parameter is refused", async () => {
  const id = await newTenant();
  const place = `/tenants/${id}/resources/content?uri=note:a&title=a%ED%A0%80`;
  const refused = await ask("PUT", place, { body: "x", headers: { "content-type": "text/plain" } });
  expect(rules(refused)).toEqual([422, ["title", "must be text without half of a surrogate pair"]]);
});

const COUNTED = ROUTES.flatMap(({ method, path, query }) =>
  Object.entries(jsonSchemaOf(query)["properties"] as Record<string, JsonObject>).flatMap(([name, { type }]) =>
    type === "integer" || type === "number" ? [[method, path, name, type] as const] : [],
  ),
);

it("every route takes numbers in decimal digits alone", async () => {
  const id = await newTenant();
  expect(COUNTED).not.toEqual([]);
  for (const [method, path, name, type] of COUNTED) {
    const odd = ["0x1", "0b1", "1e0", "%201", "1%20", "%2B1", "-0", "", ".5", "1.", "Infinity", "\u0661"];
    for (const value of type === "integer" ? [...odd, "1.0"] : odd) {
      const refused = await ask(method, `${placeOf(path, id)}?${name}=${value}`);
      expect(rules(refused), `${path} ${value}`).toContainEqual([name, expect.stringContaining("number")]);
    }
  }
});

it("a problem lists a hundred errors at most, and says that there are more", async () => {
  const id = await newTenant();
  const wrong = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]));
  const said = async (json: unknown) => {
    const { errors, detail } = (await ask("PUT", `/tenants/${id}/document`, { json })).body as Infer<typeof Problem>;
    return [errors?.length, detail];
  };
  expect(await said(wrong(100))).toEqual([100, undefined]);
  expect(await said(wrong(101))).toEqual([100, "These are the first 100 errors, there are more"]);
  const tools = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`none-${at}`, {}]));
  expect(await said({ tools })).toEqual([100, "These are the first 100 errors, there are more"]);
});
