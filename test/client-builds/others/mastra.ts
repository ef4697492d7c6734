// Drives Mastra's client, as an application that hands its tools to an agent.

import { MCPClient } from "@mastra/mcp";
import { auth } from "@modelcontextprotocol/client";
import { drive, task, type Session } from "../session.ts";
import { loggingIn, type LoginStore } from "../login-store.ts";

let made = 0;

async function connect(url: string, key?: string, authProvider?: LoginStore): Promise<Session> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  made += 1;
  const client = new MCPClient({
    id: `${task.build}-${made}`,
    servers: { notebook: { url: new URL(url), requestInit: { headers }, authProvider } },
  });
  const { tools, errors } = await client.listToolsWithErrors();
  if (errors["notebook"] !== undefined) throw new Error(errors["notebook"]);
  return {
    list: async () => Object.keys(tools),
    call: (name, args) => tools[`notebook_${name}`]?.execute?.(args, {}) ?? Promise.reject(new Error(name)),
    read: (uri) => client.resources.read("notebook", uri),
    prompt: (name) => client.prompts.get({ serverName: "notebook", name }),
    onChange: (onNotification) => client.resources.onListChanged("notebook", onNotification),
    close: () => client.disconnect(),
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
