// Every answer of the other tests is checked by `ask`; here are all routes, and paths without a route.

import { expect, it } from "vitest";
import { ROUTES } from "../../src/admin/routes/all-routes.ts";
import { adminEnv, appOf, newTenant, ORIGIN, send } from "../support/workerd/admin.ts";

const storedAs = ({ status, headers }: Response) => [status, headers.get("cache-control")];

it("no cache keeps the answer of any route, with a token or without", async () => {
  const id = await newTenant();
  for (const { method, path } of ROUTES) {
    // The tenant is there for all of them.
    const below = path.replace("{id}", method === "DELETE" && path === "/tenants/{id}" ? "none" : id);
    for (const asking of [{}, { token: null }, { headers: { origin: "https://evil.example" } }]) {
      const answer = await send(method, below.replaceAll(/\{\w+\}/g, "none"), asking);
      expect([method, path, ...storedAs(answer)]).toEqual([method, path, answer.status, "no-store"]);
      await answer.body?.cancel();
    }
  }
});

it.each(["/admin/v1/nothing", "/admin", "/admin/v1/tenants/none/none/none"])(
  "no cache keeps the answer at %s, which is not a route",
  async (path) => {
    for (const method of ["GET", "POST", "OPTIONS", "PATCH"]) {
      const answer = await appOf().fetch(new Request(ORIGIN + path, { method }), adminEnv);
      expect([method, ...storedAs(answer)]).toEqual([method, answer.status, "no-store"]);
    }
  },
);

it("no cache keeps an internal error", async () => {
  const broken = { ...adminEnv, DirectoryObject: {} as never };
  const headers = { authorization: `Bearer ${adminEnv.ADMIN_TOKEN}` };
  const answer = await appOf().fetch(new Request(`${ORIGIN}/admin/v1/tenants`, { headers }), broken);
  expect(storedAs(answer)).toEqual([500, "no-store"]);
});

it("caches may keep the OpenAPI description, which is the same for everybody", async () => {
  const answer = await appOf().fetch(new Request(`${ORIGIN}/admin/openapi.json`), adminEnv);
  expect(storedAs(answer)).toEqual([200, "public, max-age=300"]);
});
