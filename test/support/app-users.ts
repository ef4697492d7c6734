// A running app with users of its own, in which tenantry is mounted, and asking it as one of them.

import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { fixtureAdmin, type FixtureAdmin } from "./fixture-admin.ts";
import { mcpClient, type Client, type Json, type Reply } from "./mcp-client.ts";
import { sharedWorker, type OneWorker } from "./start-worker.ts";

export interface UsersApp extends Pick<OneWorker, "log"> {
  /** With the path under which tenantry is mounted. */
  readonly base: string;
  readonly admin: FixtureAdmin;
  readonly url: (path: string) => string;
  /** How often the app was asked who calls. */
  readonly requestCount: () => Promise<number>;
}

export async function startUsersApp(): Promise<UsersApp> {
  const worker = await sharedWorker("app-users-worker", { ADMIN_TOKEN });
  const base = `${worker.origin}/ai`;
  const admin = fixtureAdmin(base, "users");
  return {
    base,
    admin,
    log: () => worker.log(),
    url: (path) => `${base}/mcp${path}`,
    requestCount: async () => (await (await fetch(`${worker.origin}/asked`)).json()) as number,
  };
}

/** The headers by which the app knows somebody. */
export const as = (user: Json | string): Record<string, string> => ({
  "x-user": typeof user === "string" ? user : JSON.stringify(user),
});

export const clientAs = (
  user: Json | string,
  revision: string,
  url: string,
  capabilities: Json = {},
): Promise<Client> => mcpClient(revision, url, capabilities, as(user));

export const textOf = ({ result }: Reply): string => String((result["content"] as Json[] | undefined)?.[0]?.["text"]);

export const whoIs = async (client: Client): Promise<Json> =>
  JSON.parse(textOf(await client.request("tools/call", { name: "whoami", arguments: {} }))) as Json;
