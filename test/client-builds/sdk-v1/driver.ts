// Drives a minor of the official SDK v1: by Streamable HTTP, and those before 1.10 by HTTP+SSE, which is all they have.

import { drive, task, type Session } from "../session.ts";
import { loggingIn, type LoginStore } from "../login-store.ts";

const ABOUT = { name: `build-${task.build}`, version: "1" };
const minor = Number(task.build.split("-")[2]);
const from = async (path: string) => import(`${task.build}/${path}`);

const { Client } = await from("client/index.js");
const { ResourceListChangedNotificationSchema } = await from("types.js");
const { StreamableHTTPClientTransport: Http } = minor >= 10 ? await from("client/streamableHttp.js") : {};
const { SSEClientTransport: Sse } = await from("client/sse.js");

// The first ones take the class of streams from their host.
if (minor < 4) Object.assign(globalThis, await import("eventsource"));

function transport(url: string, key?: string, authProvider?: LoginStore) {
  const own = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const requestInit = { headers: own };
  if (minor >= 10) return new Http(new URL(url), { requestInit, authProvider });
  const withKey = (to: string, init: RequestInit) =>
    fetch(to, { ...init, headers: { ...(init.headers as Record<string, string>), ...own } });
  const eventSourceInit = key === undefined ? undefined : { fetch: withKey };
  return new Sse(new URL(url), { requestInit, eventSourceInit, authProvider });
}

async function connected(made: ReturnType<typeof transport>): Promise<Session> {
  const client = new Client(ABOUT, { capabilities: {} });
  await client.connect(made);
  return {
    list: async () => (await client.listTools()).tools.map(({ name }: { name: string }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    read: (uri) => client.readResource({ uri }),
    prompt: (name) => client.getPrompt({ name }),
    onChange: (onNotification) => client.setNotificationHandler(ResourceListChangedNotificationSchema, onNotification),
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
      finish: (back) => latest.finishAuth(back.get("code")),
    });
  },
});
