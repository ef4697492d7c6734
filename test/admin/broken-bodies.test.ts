// A body that is no JSON may be a secret, or hold one: wherever it breaks, and whichever route it was sent to, the answer has no
// piece of it.

import { expect, it } from "vitest";
import { ROUTES } from "../../src/admin/routes/all-routes.ts";
import { ask, newTenant, send } from "../support/worker/admin.ts";

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

it("says nothing of a secret that is sent as broken JSON", async () => {
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

const TAKING_JSON = ROUTES.filter(({ body }) => body !== undefined && body !== "stream");

it.each(TAKING_JSON.map(({ method, path }) => [method, path] as const))(
  "%s %s says nothing of a broken body",
  async (method, path) => {
    const id = await newTenant();
    const place = path.replace("{tenant}", id).replaceAll(/\{\w+\}/g, "x");
    const response = await send(method.toUpperCase() as "PUT", place, { body: VALUE, headers: JSON_TYPE });
    const text = await response.text();
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(
      PIECES.filter((piece) => text.includes(piece)),
      text,
    ).toEqual([]);
  },
);
