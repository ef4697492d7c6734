// Drives the AI SDK's client, as an application that has tools from it.

import type { auth as Auth } from "@ai-sdk/mcp";
import { drive, task, type Session } from "../session.ts";
import { loggingIn, type LoginStore } from "../login-store.ts";

/** As far as it is the same in every major. */
interface Client {
  tools(): Promise<Record<string, { execute(args: unknown, options: unknown): Promise<unknown> }>>;
  readResource(params: unknown): Promise<unknown>;
  getPrompt?(params: unknown): Promise<unknown>;
  experimental_getPrompt?(params: unknown): Promise<unknown>;
  close(): Promise<unknown>;
}

const { experimental_createMCPClient: createClient, auth } = (await import(task.build)) as {
  experimental_createMCPClient: (options: unknown) => Promise<Client>;
  auth: typeof Auth;
};

async function connect(url: string, key?: string, authProvider?: LoginStore): Promise<Session> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const client = await createClient({ transport: { type: "http", url, headers, authProvider } });
  const tools = await client.tools();
  return {
    list: async () => Object.keys(tools),
    call: async (name, args) => tools[name]?.execute(args, { messages: [], toolCallId: "1" }),
    read: (uri) => client.readResource({ uri }),
    prompt: async (name) => client.getPrompt?.({ name }) ?? client.experimental_getPrompt?.({ name }),
    close: () => client.close(),
  };
}

await drive({
  connect,
  logIn: (url, key) =>
    loggingIn(key, {
      connect: (store) => connect(url, undefined, store),
      finish: (back, store) => auth(store, { serverUrl: new URL(url), authorizationCode: back.get("code") ?? "" }),
    }),
});
