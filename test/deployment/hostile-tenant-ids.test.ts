// Names that come from elsewhere into the author's own code: a tenant's that a webhook was sent, and users as an app's
// database has them.

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWorker, defineTool, TenantError } from "../../src/tenantry.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";

const who = defineTool({ name: "who", handler: (_args, { principal }) => JSON.stringify(principal) });
const worker = createWorker({ tools: [who], tenants: { acme: {} }, hooks: { onError: () => {} } });

const IDS = [
  "",
  "__proto__",
  "constructor",
  "acme/../globex",
  "acme ",
  "ACME",
  "a".repeat(1e6),
  "acme\n",
  "acme\0",
  "-",
  "admin",
  "shard-0",
  undefined,
  null,
  7,
  {},
  ["acme"],
  { toString: () => "acme" },
  Symbol("acme"),
];

it.each(IDS.map((id) => [String(id).slice(0, 20), id] as const))(
  "no tenant is reached by the id %j",
  async (_said, id) => {
    const tenant = worker.tenant(env, id as string);
    const as = { id: "nightly" };
    for (const ask of [
      () => tenant.announce({ tools: true }),
      () => tenant.resources.list(),
      () => tenant.callTool("who", {}, { as }),
    ]) {
      const failed = await ask().then(
        () => "let in",
        (error: unknown) => error,
      );
      expect(failed).toBeInstanceOf(Error);
      if (failed instanceof TenantError) expect(failed.code).toBe("unknownTenant");
      else expect(failed).toBeInstanceOf(TypeError);
    }
  },
);

it.each([
  { id: "x", profile: "__proto__" },
  { id: "x", profile: "constructor" },
  { id: "x", scopes: ["a b"] },
  { id: "x y" },
  { id: "\n" },
  { id: "" },
  { id: 7 },
  { id: ["x"] },
  { id: "x", scopes: "reader" },
  {},
])("a call as %j is refused", async (as) => {
  const failed = await worker
    .tenant(env, "acme")
    .callTool("who", {}, { as: as as { id: string } })
    .then(
      ({ content }) => content,
      (error: unknown) => error,
    );
  expect(failed).toBeInstanceOf(Error);
});

const boom = () => {
  throw new Error("boom");
};
const user = (more: object) => ({ subject: "x", claims: {}, ...more, kind: "app", id: "app x" });
/** A number: the status with which nobody is let in. */
const USERS: [string, unknown, object | number][] = [
  ["a subject that steers", { id: "x", subject: "a\r\nb: c\u001b[2J" }, user({ subject: "a\r\nb: c\u001b[2J" })],
  ["a long subject", { id: "x", subject: "s".repeat(1e6) }, 503],
  ["a prototype", JSON.parse('{"id":"x","__proto__":{"kind":"key"}}'), 503],
  [
    "a prototype of claims",
    JSON.parse('{"id":"x","claims":{"__proto__":{"a":1}}}'),
    JSON.parse('{"subject":"x","claims":{"__proto__":{"a":1}},"kind":"app","id":"app x"}') as object,
  ],
  ["a kind", { id: "x", kind: "key" }, 503],
  ["claims that are written as something else", { id: "x", claims: { toJSON: () => 7 } }, 503],
  ["another tenant", { id: "x", tenant: "__proto__" }, 404],
  ["no tenant's name", { id: "x", tenant: "" }, 404],
  ["an inherited id", Object.create({ id: "x" }), 503],
  ["an id of two lines", { id: "x\n" }, 503],
  ["an id that is a number", { id: 7 }, 503],
  ["no id", { id: "" }, 503],
  ...[[], null, "x", 0, false, true, Promise.resolve(null)].map((no): [string, unknown, number] => [
    JSON.stringify(no),
    no,
    503,
  ]),
  [
    "what throws when it is looked at",
    {
      get id() {
        return boom();
      },
    },
    503,
  ],
  ["what throws whatever is done", new Proxy({}, { ownKeys: boom, get: boom }), 503],
];

it.each(USERS)("a user with %s is the app's user, or refused", async (_what, answer, expected) => {
  const { id } = await servedTenant({ mode: "open" });
  const app = createWorker({
    tools: [who],
    tenants: {},
    authenticate: () => answer as never,
    hooks: { onError: () => {} },
  });
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "who" } };
  const response = await sendTo(app, id, { message });
  const answered = (await response.json()) as { result?: { content: { text: string }[] } };
  expect(answered.result ? JSON.parse(answered.result.content[0]?.text ?? "") : response.status).toEqual(expected);
});
