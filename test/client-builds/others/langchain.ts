// Drives LangChain's adapters, as an application that hands their tools to an agent.

import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { auth } from "@modelcontextprotocol/sdk/client/auth.js";
import { drive, type Session } from "../session.ts";
import { loggingIn, type LoginStore } from "../login-store.ts";

async function connect(url: string, key?: string, authProvider?: LoginStore): Promise<Session> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const listeners = new Set<() => void>();
  const client = new MultiServerMCPClient({
    mcpServers: { notebook: { transport: "http", url, headers, authProvider } },
    onResourcesListChanged: () => listeners.forEach((one) => one()),
  });
  const tools = await client.getTools();
  return {
    list: async () => tools.map(({ name }) => name),
    call: (called, args) =>
      tools.find(({ name }) => name === called)?.invoke(args) ?? Promise.reject(new Error(called)),
    read: (uri) => client.readResource("notebook", uri),
    prompt: async (name) => (await client.getClient("notebook"))?.getPrompt({ name }),
    onChange: (one) => void listeners.add(one),
    close: () => client.close(),
  };
}

await drive({
  connect,
  logIn: (url, key) =>
    loggingIn(key, {
      connect: (store) => connect(url, undefined, store),
      finish: (back, store) => auth(store, { serverUrl: url, authorizationCode: back.get("code") ?? "" }),
    }),
});
