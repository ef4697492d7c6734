// No cache keeps what the admin API says, whoever asked and whatever came of it. `ask` holds each answer of every other test
// to the same; here are all routes, and what is no route.

import { describe, expect, it } from "vitest";
import { ROUTES } from "../../src/admin/routes/all-routes.ts";
import { adminEnv, appOf, newTenant, ORIGIN, send } from "../support/workerd/admin.ts";

const storedAs = ({ status, headers }: Response) => [status, headers.get("cache-control")];

describe.each(ROUTES.map(({ method, path }) => ({ method, path })))("$method $path", ({ method, path }) => {
  const below = (id: string) => path.replace("{id}", id).replaceAll(/\{\w+\}/g, "none");

  it("is not kept, with a token and without", async () => {
    const id = path === "/tenants/{id}" && method !== "GET" ? "none" : await newTenant();
    for (const asking of [{}, { token: null }, { headers: { origin: "https://evil.example" } }]) {
      const answer = await send(method, below(id), asking);
      expect(storedAs(answer)).toEqual([answer.status, "no-store"]);
      await answer.body?.cancel();
    }
  });
});

it.each(["/admin/v1/nothing", "/admin", "/admin/v1/tenants/none/none/none"])("%s is not kept", async (path) => {
  for (const method of ["GET", "POST", "OPTIONS", "PATCH"]) {
    const answer = await appOf().fetch(new Request(ORIGIN + path, { method }), adminEnv);
    expect([method, ...storedAs(answer)]).toEqual([method, answer.status, "no-store"]);
  }
});

it("what broke inside is not kept", async () => {
  const broken = { ...adminEnv, DirectoryObject: {} as never };
  const headers = { authorization: `Bearer ${adminEnv.ADMIN_TOKEN}` };
  const answer = await appOf().fetch(new Request(`${ORIGIN}/admin/v1/tenants`, { headers }), broken);
  expect(storedAs(answer)).toEqual([500, "no-store"]);
});

it("the description is the same for everybody, and may be", async () => {
  const answer = await appOf().fetch(new Request(`${ORIGIN}/admin/openapi.json`), adminEnv);
  expect(storedAs(answer)).toEqual([200, "public, max-age=300"]);
});
