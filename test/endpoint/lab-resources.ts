// Resources of the tenant `lab` of the fixture Worker, written by its own tools.

import { expect } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026, type Client, type Json } from "../support/mcp-client.ts";

export const LAB = `${fixtureOrigin()}/mcp/lab`;

export async function toolText(client: Client, name: string, args: Json): Promise<string> {
  const { result, error } = await client.request("tools/call", { name, arguments: args });
  expect({ error, isError: result.isError, content: result.content }).toMatchObject({
    error: undefined,
    isError: undefined,
  });
  return String((result.content as Json[])[0]?.text);
}

/** Stored before a test begins; several at once, because none depends on another. */
export async function storeAll(resources: readonly Json[]): Promise<void> {
  const client = client2026(LAB);
  const left = [...resources];
  const worker = async () => {
    for (let next = left.pop(); next; next = left.pop()) await toolText(client, "lab_write", next);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}
