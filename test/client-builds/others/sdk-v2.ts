// Drives a minor of the official SDK v2, in the era that the task names.

import { drive, task, type Session } from "../session.ts";
import { loggingIn, type LoginStore } from "../login-store.ts";

const { Client, StreamableHTTPClientTransport: Http } = await import(task.build);

function transport(url: string, key?: string, authProvider?: LoginStore) {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return new Http(new URL(url), { requestInit: { headers }, authProvider });
}

async function connected(made: ReturnType<typeof transport>): Promise<Session> {
  const listeners = new Set<() => void>();
  const client = new Client(
    { name: `build-${task.build}`, version: "1" },
    {
      versionNegotiation: { mode: task.era === "2026" ? { pin: "2026-07-28" } : "legacy" },
      listChanged: { resources: { autoRefresh: false, onChanged: () => listeners.forEach((one) => one()) } },
    },
  );
  await client.connect(made);
  return {
    list: async () => (await client.listTools()).tools.map(({ name }: { name: string }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    read: (uri) => client.readResource({ uri }),
    prompt: (name) => client.getPrompt({ name }),
    onChange: (one) => void listeners.add(one),
    close: () => client.close(),
  };
}

await drive({
  connect: (url, key) => connected(transport(url, key)),
  logIn: (url, loginKey) => {
    // What a refusal said of where to log in stays with the transport that was refused.
    let latest: ReturnType<typeof transport>;
    return loggingIn(loginKey, {
      connect: (store) => connected((latest = transport(url, undefined, store))),
      finish: (back) => latest.finishAuth(back),
    });
  },
});
