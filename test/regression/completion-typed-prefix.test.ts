// What is typed of a template's first variable finds stored URIs that hold its reserved characters unescaped.
import { expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026 } from "../support/mcp-client.ts";

const origin = fixtureOrigin();

test.each(["team:", "team:a", "team:a@b", "team:a@b+c"])("%s completes to the stored folder", async (value) => {
  const client = client2026(`${origin}/mcp/lab`);
  const uri = "lab://notes/team:a@b+c/1";
  await client.request("tools/call", { name: "lab_write", arguments: { uri, name: "One", text: "one" } });
  const { result } = await client.request("completion/complete", {
    ref: { type: "ref/resource", uri: "lab://notes/{folder}/{id}" },
    argument: { name: "folder", value },
  });
  await client.request("tools/call", { name: "lab_delete", arguments: { uri } });
  expect(result).toMatchObject({ completion: { values: ["team:a@b+c"] } });
});
