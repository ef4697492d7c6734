// A question of an upstream went to a client of an earlier revision as it was written, and that client refused it or showed
// nothing: it is put in the client's words, as a tool's own is, over real HTTP with the official SDK behind the gateway.

import { expect, test } from "vitest";
import { ResumableCall } from "../support/resumable-call.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { post, type Json } from "../support/mcp-client.ts";
import { expectOfficial } from "../support/official-schema.ts";
import { SdkServer } from "../support/sdk-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "older");
const EVERYTHING = { elicitation: {}, sampling: {} };

async function connected(revision: string) {
  const sdk = await SdkServer.start();
  const tenant = await gatewayTenant(origin, admin, { sdk: { url: sdk.url, era: "2025" } });
  return { url: tenant.url, client: await tenant.client(revision, EVERYTHING) };
}

test.each([
  ["2025-06-18", { type: "string", enum: ["r"], enumNames: ["Red"] }, "l, s"],
  ["2025-11-25", { type: "string", oneOf: [{ const: "r", title: "Red" }] }, ["l", "s"]],
] as const)(
  "a form reaches a client of %s in its words, and the upstream its answer",
  async (revision, colour, sizes) => {
    const { url, client } = await connected(revision);
    const call = await ResumableCall.begin(url, client, { id: "call", params: { name: "sdk__choose", arguments: {} } });
    const question = (await call.next()) ?? {};
    expectOfficial(revision, question, { direction: "server" });
    expect(question).toMatchObject({ params: { requestedSchema: { properties: { colour } } } });
    const result: Json = { action: "accept", content: { colour: "r", sizes } };
    await post(url, { jsonrpc: "2.0", id: question["id"], result }, { headers: client.headers });
    const text = JSON.stringify({ action: "accept", content: { colour: "r", sizes: ["l", "s"] } });
    expect(await call.next()).toMatchObject({ id: "call", result: { content: [{ text }] } });
    await call.drop();
  },
);

test("audio for a model of a client of 2024-11-05 is refused to the upstream, with the reason", async () => {
  const { client } = await connected("2024-11-05");
  const { messages } = await client.request("tools/call", { name: "sdk__hear", arguments: {} });
  const text = expect.stringContaining("the client's revision 2024-11-05 does not support audio") as unknown;
  expect(messages).toMatchObject([{ result: { isError: true, content: [{ text }] } }]);
});
