// The official clients as far as they log in: each with a store of its own, which ends at the URL that a person has to
// open.

import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
  UnauthorizedError as UnauthorizedV2,
} from "@modelcontextprotocol/client";
import { UnauthorizedError as UnauthorizedV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { onTestFinished } from "vitest";
import type { Json } from "./mcp-client.ts";
import { CLIENT_AT, type SignInAt } from "./login-browser.ts";

const ABOUT = { name: "official-login-test", version: "1" };

/** What both clients want of whoever keeps their tokens. */
class LoginStore {
  readonly redirectUrl = CLIENT_AT;
  readonly clientMetadata = {
    client_name: "Official client",
    redirect_uris: [CLIENT_AT],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  /** Set by the client, in this order. */
  registered: unknown;
  asked: URL | undefined;
  verifier = "";
  savedTokens: unknown;

  state = () => "state-of-the-client";
  clientInformation = () => this.registered as never;
  saveClientInformation = (made: unknown) => void (this.registered = made);
  tokens = () => this.savedTokens as never;
  saveTokens = (tokens: unknown) => void (this.savedTokens = tokens);
  redirectToAuthorization = (url: URL) => void (this.asked = url);
  saveCodeVerifier = (verifier: string) => void (this.verifier = verifier);
  codeVerifier = () => this.verifier;
}

export interface LoggedIn {
  readonly store: LoginStore;
  readonly tools: () => Promise<string[]>;
  readonly call: (name: string, args?: Json) => Promise<string>;
}

export interface LoginClient {
  readonly title: string;
  readonly logIn: (url: string, signIn: SignInAt) => Promise<LoggedIn>;
}

interface Transporting {
  finish(back: URL): Promise<void>;
}

async function logIn<C>(
  store: LoginStore,
  { connect, isRefused }: { connect: () => Promise<C>; isRefused: (error: unknown) => boolean },
  { transport, signIn }: { transport: Transporting; signIn: SignInAt },
): Promise<C> {
  try {
    await connect();
  } catch (error) {
    if (!isRefused(error) || !store.asked) throw error;
    const back = await signIn(store.asked);
    if (back.searchParams.get("state") !== store.state())
      throw new Error(`another state: ${back.href}`, { cause: error });
    await transport.finish(back);
    return connect();
  }
  throw new Error("nobody had to log in");
}

/** What both clients answer alike. */
type Connected = Pick<ClientV1 | ClientV2, "listTools"> & {
  callTool(call: { name: string; arguments: Json }): Promise<object>;
};

function loggedIn(store: LoginStore, client: Connected): LoggedIn {
  return {
    store,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => textIn(await client.callTool({ name, arguments: args })),
  };
}

function clientV2(title: string, mode: "legacy" | { pin: string }): LoginClient {
  return {
    title,
    logIn: async (url, signIn) => {
      const store = new LoginStore();
      const made = () => new HttpV2(new URL(url), { authProvider: store });
      const transport = { finish: (back: URL) => made().finishAuth(back.searchParams) };
      const connect = async () => {
        const client = new ClientV2(ABOUT, { versionNegotiation: { mode } });
        onTestFinished(() => client.close());
        await client.connect(made());
        return client;
      };
      const isRefused = (error: unknown) => error instanceof UnauthorizedV2;
      return loggedIn(store, await logIn(store, { connect, isRefused }, { transport, signIn }));
    },
  };
}

export const LOGIN_CLIENTS: readonly LoginClient[] = [
  {
    title: "SDK v1",
    logIn: async (url, signIn) => {
      const store = new LoginStore();
      const made = () => new HttpV1(new URL(url), { authProvider: store });
      const transport = { finish: (back: URL) => made().finishAuth(back.searchParams.get("code") ?? "") };
      const connect = async () => {
        const client = new ClientV1(ABOUT);
        onTestFinished(() => client.close());
        await client.connect(made());
        return client;
      };
      const isRefused = (error: unknown) => error instanceof UnauthorizedV1;
      return loggedIn(store, await logIn(store, { connect, isRefused }, { transport, signIn }));
    },
  },
  clientV2("SDK v2", "legacy"),
  clientV2("SDK v2 in era 2026", { pin: "2026-07-28" }),
];

function textIn(result: object): string {
  const [first] = ("content" in result ? result.content : []) as { readonly text?: string }[];
  return first?.text ?? "";
}
