// Drives the client of OpenAI's agents, as an agent has it for a server of tools.

import { auth } from "@modelcontextprotocol/client";
import { MCPServerStreamableHttp } from "@openai/agents-core";
import { drive, type Session } from "../session.ts";
import { loggingIn, type LoginStore } from "../login-store.ts";

async function connect(url: string, key?: string, authProvider?: LoginStore): Promise<Session> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const server = new MCPServerStreamableHttp({ url, name: "notebook", requestInit: { headers }, authProvider });
  await server.connect();
  return {
    list: async () => (await server.listTools()).map(({ name }) => name),
    call: (name, args) => server.callTool(name, args),
    read: (uri) => server.readResource(uri),
    close: () => server.close(),
  };
}

await drive({
  connect,
  logIn: (url, key) =>
    loggingIn(key, {
      connect: (store) => connect(url, undefined, store),
      finish: (back, store) =>
        auth(store, {
          serverUrl: url,
          authorizationCode: back.get("code") ?? "",
          iss: back.get("iss") ?? "",
        }),
    }),
});
