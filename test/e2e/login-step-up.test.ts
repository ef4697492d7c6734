// What the official clients do with the challenges of a mixed tenant: where they send a person, and which scopes they ask for
// there, first without a token, then with one that lacks a scope, then with all.

import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test } from "vitest";
import { startAuthorizationServer } from "../support/authorization-server.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import type { Json } from "../support/mcp-client.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "step-up");

/** What both clients have in common, as far as it is used here. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Json }): Promise<object>;
}

/** Who sits at the client: remembers where it sent them, and never comes back from there. */
function person(issuer: string, token: string | undefined, scope: string) {
  const sent: URL[] = [];
  const provider = {
    redirectUrl: "http://localhost:33418/callback",
    clientMetadata: { redirect_uris: ["http://localhost:33418/callback"] },
    clientInformation: () => ({ issuer, client_id: "test" }),
    tokens: () => (token === undefined ? undefined : { issuer, access_token: token, token_type: "Bearer", scope }),
    saveTokens: () => {},
    redirectToAuthorization: (url: URL) => {
      sent.push(url);
    },
    saveCodeVerifier: () => {},
    codeVerifier: () => "",
  };
  return { sent, provider };
}

type Provider = ReturnType<typeof person>["provider"];

const ABOUT = { name: "step-up-test", version: "1" };

const CLIENTS = [
  {
    title: "v1 client",
    connect: async (url: string, authProvider: Provider): Promise<AnyClient> => {
      const client = new ClientV1(ABOUT);
      await client.connect(new TransportV1(new URL(url), { authProvider }));
      onTestFinished(() => client.close());
      return client;
    },
  },
  {
    title: "v2 client",
    connect: async (url: string, authProvider: Provider): Promise<AnyClient> => {
      const client = new ClientV2(ABOUT, { versionNegotiation: { mode: "auto" } });
      await client.connect(new TransportV2(new URL(url), { authProvider }));
      onTestFinished(() => client.close());
      return client;
    },
  },
];

test.each(CLIENTS)("the $title asks for the first scopes, then for one more, and then calls", async ({ connect }) => {
  const server = await startAuthorizationServer();
  const values = { look: ["looking"], change: ["changing"] };
  const auth = {
    issuers: [{ issuer: server.issuer, scopes: { claim: "scope", values, first: ["look"] } }],
    anonymous: { scopes: [] },
  };
  const scopes = { looking: { tools: ["whoami"] }, changing: { tools: ["whoami_later"] } };
  const id = await admin.tenant({ mode: "mixed", auth, scopes });
  const url = `${origin}/mcp/${id}`;

  /** Where a call of the tool sends whoever has a token of these scopes. */
  async function sentFor(name: string, granted: string | undefined) {
    const token = granted === undefined ? undefined : await server.token({ aud: url, scope: granted });
    const { sent, provider } = person(server.issuer, token, granted ?? "");
    const client = await connect(url, provider);
    await client.listTools();
    await client.callTool({ name, arguments: {} }).catch(String);
    return sent.map(({ origin: at, pathname, searchParams }) => ({
      at: at + pathname,
      scopes: searchParams.get("scope")?.split(" ").toSorted(),
      resource: searchParams.get("resource"),
    }));
  }

  const there = { at: `${server.issuer}/authorize`, resource: url };
  expect(await sentFor("whoami", undefined)).toEqual([{ ...there, scopes: ["look"] }]);
  expect(await sentFor("whoami_later", "look")).toEqual([{ ...there, scopes: ["change", "look"] }]);
  expect(await sentFor("nothing", "look")).toEqual([]);
  const { sent, provider } = person(
    server.issuer,
    await server.token({ aud: url, scope: "look change" }),
    "look change",
  );
  const { content } = (await (await connect(url, provider)).callTool({ name: "whoami_later", arguments: {} })) as {
    content: { text: string }[];
  };
  expect([JSON.parse(content[0]?.text ?? "{}"), sent]).toEqual([expect.objectContaining({ subject: "alice" }), []]);
});
