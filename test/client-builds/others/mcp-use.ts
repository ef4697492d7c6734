// Drives the client of mcp-use, by a session of one server.

import { auth } from "@modelcontextprotocol/sdk/client/auth.js";
import { MCPClient } from "mcp-use/client";
import { drive, type Session } from "../session.ts";
import { loggingIn, type LoginStore } from "../login-store.ts";

async function connect(url: string, key?: string, authProvider?: LoginStore): Promise<Session> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const client = MCPClient.fromDict({ mcpServers: { notebook: { url, headers, authProvider } } });
  const session = await client.createSession("notebook");
  return {
    list: async () => (await session.listTools()).map(({ name }) => name),
    call: (name, args) => session.callTool(name, args),
    read: (uri) => session.readResource(uri),
    prompt: (name) => session.getPrompt(name, {}),
    onChange: (onNotification) =>
      session.on("notification", ({ method }) => {
        if (method === "notifications/resources/list_changed") onNotification();
      }),
    close: () => client.closeAllSessions(),
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
