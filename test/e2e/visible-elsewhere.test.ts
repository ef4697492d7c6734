// What an author hides with `visible` is answered wherever it is named as what does not exist: completions, subscriptions, lists.
// And what runs around calls does not run around these.

import { describe, expect, it } from "vitest";
import { listenTo } from "../support/listening.ts";
import { mcpClient, ERAS, type Json } from "../support/mcp-client.ts";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { sharedWorker } from "../support/start-worker.ts";

const worker = await sharedWorker("bounded-worker", { ADMIN_TOKEN, OUTBOUND_LOCAL: "http://127.0.0.1" });

describe.each(ERAS)("in era $era", ({ era, revision }) => {
  const url = () => `${worker.origin}/mcp/acme`;
  const client = () => mcpClient(revision, url());
  const argument = { name: "word", value: "o" };

  it.each([
    ["completion/complete", { ref: { type: "ref/prompt", name: "hidden" }, argument }],
    ["completion/complete", { ref: { type: "ref/resource", uri: "hidden://{id}/of" }, argument }],
    ["completion/complete", { ref: { type: "ref/resource", uri: "hidden://one" }, argument }],
    ["prompts/get", { name: "hidden" }],
    ["resources/read", { uri: "hidden://one" }],
    ["resources/read", { uri: "hidden://one/of" }],
    ["tools/call", { name: "hidden" }],
    ...(era === "2025"
      ? ([
          ["resources/subscribe", { uri: "hidden://one" }],
          ["resources/subscribe", { uri: "hidden://one/of" }],
          ["resources/unsubscribe", { uri: "hidden://one" }],
        ] as const)
      : []),
  ] as const)("%s %j is answered as what nobody defined", async (method, params) => {
    const asked = JSON.stringify(params);
    const other = JSON.parse(asked.replace("hidden", "absent")) as Json;
    const [hidden, absent] = [
      await (await client()).request(method, params),
      await (await client()).request(method, other),
    ];
    const told = ({ status, error, result }: typeof hidden) => {
      const { _meta, ...rest } = result;
      return JSON.stringify([status, error, rest]).replaceAll("hidden", "absent");
    };
    expect(told(hidden)).toBe(told(absent));
  });

  it("no list has it, and nothing runs around lists, completions and subscriptions", async () => {
    const from = worker.log().length;
    const asking = await client();
    for (const method of ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]) {
      const { result, error } = await asking.request(method);
      expect([method, error]).toEqual([method, undefined]);
      expect(JSON.stringify(result)).not.toContain("hidden");
    }
    await asking.request("completion/complete", { ref: { type: "ref/prompt", name: "hangs_before" }, argument });
    const listening = await listenTo(revision, url(), { uris: ["held://hangs_before"] });
    await listening.events.close();
    // Said after whatever the requests before it said.
    await asking.request("tools/call", { name: "count", arguments: {} });
    const around = () =>
      worker
        .log()
        .slice(from)
        .split("\n")
        .filter((line) => line.startsWith("around "));
    await expect.poll(around).toHaveLength(2);
    for (const line of around()) expect(line).toContain("acme count");
  });
});
