// A name that no schema takes for a URI would make the list that shows it unreadable for a strict client.

import { expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2026 } from "../support/mcp-client.ts";

const lab = `${fixtureOrigin()}/mcp/lab`;

test.each(["lab://a[b", "lab://[a", "lab://a/[1]", "lab:]", "lab://a#b#c", "lab:?a", "lab:#a"])(
  "%s is refused as a URI, by reading and by tools",
  async (uri) => {
    const client = client2026(lab);
    const read = await client.request("resources/read", { uri });
    expect(read.error).toMatchObject({ code: -32602, message: expect.stringMatching(/uri: a URI/) as string });
    const deleted = await client.request("tools/call", { name: "lab_delete", arguments: { uri } });
    expect(deleted.result).toMatchObject({ isError: true });
  },
);

test.each(["http://[2001:db8::1]:80/x", "lab://user@[::1]", "lab://a:b/c", "lab://a?b#c"])(
  "%s is a URI, under which nothing is stored",
  async (uri) => {
    const { error } = await client2026(lab).request("resources/read", { uri });
    expect(error?.message).toBe("Resource not found");
  },
);
