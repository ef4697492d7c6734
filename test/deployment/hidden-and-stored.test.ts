// What an author hides has no part in what the tenant's store tells those who do not see it: the same requests in two tenants,
// of which one has something stored under what is hidden.

import { env } from "cloudflare:workers";
import { beforeAll, expect, it } from "vitest";
import { createWorker, defineResource, defineTemplate, defineTool } from "../../src/tenantry.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";

type Json = Record<string, unknown>;

const HIDDEN = ["keys://one", "keys://two", "plans://next"];

const visible = () => false;
const looks = defineTool({
  name: "looks",
  handler: async (_args, { resources }) => {
    const [items, tags, uris, found] = await Promise.all([
      resources.list(),
      resources.tags(),
      resources.uris("", 100),
      resources.search("apple"),
    ]);
    return JSON.stringify({
      items: items.items.map(({ uri }) => uri),
      tags,
      uris,
      found: found.map(({ uri, score }) => [uri, score]),
      got: await resources.get("keys://one"),
      read: (await resources.read("keys://one"))?.text,
      one: (await resources.list({ limit: 1 })).items.map(({ uri }) => uri),
    });
  },
});
const worker = createWorker({
  tools: [looks],
  resources: [
    defineTemplate({ uriTemplate: "keys://{id}", name: "keys", visible, read: ({ id }) => `a key ${id}` }),
    defineResource({ uri: "plans://next", name: "plans", visible, text: "in code" }),
    defineTemplate({ uriTemplate: "{+uri}", name: "all" }),
  ],
});

let full: string;
let bare: string;
beforeAll(async () => {
  const made = await Promise.all([1, 2].map(() => servedTenant({ mode: "open", search: true })));
  [full, bare] = made.map(({ id }) => id) as [string, string];
  for (const id of [full, bare]) {
    const { resources } = worker.tenant(env, id);
    for (const name of ["a", "z"]) {
      await resources.write({ uri: `note://${name}`, name, text: "apple pie", tags: ["seen"] });
    }
  }
  // The author, for whom nothing is hidden.
  const { resources } = worker.tenant(env, full);
  for (const uri of HIDDEN) await resources.write({ uri, name: uri, text: "apple hunter2", tags: ["hidden"] });
});

async function answerOf(path: string, method: string, params: Json): Promise<string> {
  const response = await sendTo(worker, path, { message: { jsonrpc: "2.0", id: 1, method, params } });
  return (await response.text()).replaceAll(path, "TENANT").replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
}

it.each<[string, Json]>([
  ["resources/list", {}],
  ["tools/call", { name: "looks" }],
  ["tools/call", { name: "search", arguments: { query: "apple" } }],
  ["tools/call", { name: "search", arguments: { query: "hunter2" } }],
  ["tools/call", { name: "search", arguments: { query: "apple hunter2" } }],
  ["tools/call", { name: "fetch", arguments: { id: "keys://one" } }],
  ["tools/call", { name: "fetch", arguments: { id: "plans://next" } }],
  ["resources/read", { uri: "keys://one" }],
  ["completion/complete", { ref: { type: "ref/resource", uri: "{+uri}" }, argument: { name: "uri", value: "" } }],
  ["completion/complete", { ref: { type: "ref/resource", uri: "{+uri}" }, argument: { name: "uri", value: "keys" } }],
])("%s %j shows nothing of hidden resources", async (method, params) => {
  expect(await answerOf(full, method, params)).toBe(await answerOf(bare, method, params));
});

it("the author's own code finds hidden resources", async () => {
  const { resources } = worker.tenant(env, full);
  expect(await resources.uris("", 10)).toEqual([...HIDDEN.slice(0, 2), "note://a", "note://z", "plans://next"]);
  expect(await resources.search("hunter2")).toHaveLength(3);
  expect((await resources.read("keys://one"))?.text).toBe("apple hunter2");
});
