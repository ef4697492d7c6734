// The official clients, 1.x and 2.x, behind one face, as an application uses them on a server that it does not know.

import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { ListName } from "./odd-row.ts";

export const VERSIONS = ["1.x", "2.x"] as const;
export type Version = (typeof VERSIONS)[number];

export interface Face {
  /** Names; of resources and templates their URIs. */
  list(name: ListName): Promise<readonly string[]>;
  call(name: string): Promise<string>;
  get(name: string): Promise<string>;
  read(uri: string): Promise<string>;
  close(): Promise<void>;
}

const ABOUT = { name: "odd-servers-test", version: "1" };
/** An application stops somewhere. */
const MOST_PAGES = 10;

export class HangsError extends Error {}

/** The clients have no limit for what is no request. */
export async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new HangsError("timed out")), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function hangs(error: unknown): boolean {
  return error instanceof Error && /timed out/i.test(error.message);
}

/** Throws what the client throws. `timeout`: of each request. */
export async function connected(version: Version, url: string, timeout: number): Promise<Face> {
  const client =
    version === "1.x" ? new ClientV1(ABOUT) : new ClientV2(ABOUT, { versionNegotiation: { mode: "auto" } });
  try {
    await within(2 * timeout, connect(client, new URL(url), timeout));
  } catch (error) {
    client.close().catch(() => {});
    throw error;
  }
  return faceOf(client, timeout);
}

function connect(client: ClientV1 | ClientV2, url: URL, timeout: number): Promise<void> {
  if (client instanceof ClientV1) return client.connect(new HttpV1(url), { timeout });
  return client.connect(new HttpV2(url), { timeout });
}

function faceOf(client: ClientV1 | ClientV2, timeout: number): Face {
  const options = { timeout };
  const pageOf: Readonly<Record<ListName, (cursor?: string) => Promise<Page>>> = {
    tools: async (cursor) => {
      const { tools, nextCursor } = await client.listTools(paramsOf(cursor), options);
      return { names: tools.map(({ name }) => name), nextCursor };
    },
    prompts: async (cursor) => {
      const { prompts, nextCursor } = await client.listPrompts(paramsOf(cursor), options);
      return { names: prompts.map(({ name }) => name), nextCursor };
    },
    resources: async (cursor) => {
      const { resources, nextCursor } = await client.listResources(paramsOf(cursor), options);
      return { names: resources.map(({ uri }) => uri), nextCursor };
    },
    templates: async (cursor) => {
      const { resourceTemplates, nextCursor } = await client.listResourceTemplates(paramsOf(cursor), options);
      return { names: resourceTemplates.map(({ uriTemplate }) => uriTemplate), nextCursor };
    },
  };
  return {
    list: (name) => allPages(pageOf[name]),
    call: async (name) => {
      const called = { name, arguments: {} };
      const result =
        client instanceof ClientV1
          ? await client.callTool(called, undefined, options)
          : await client.callTool(called, options);
      return textOf(result as ToolResult);
    },
    get: async (name) => {
      const { messages } = await client.getPrompt({ name }, options);
      const content = messages[0]?.content;
      return content && "text" in content ? content.text : "";
    },
    read: async (uri) => {
      const { contents } = await client.readResource({ uri }, options);
      return contents[0] && "text" in contents[0] ? contents[0].text : "";
    },
    close: () => client.close(),
  };
}

interface Page {
  readonly names: readonly string[];
  readonly nextCursor: string | undefined;
}

const paramsOf = (cursor: string | undefined) => (cursor === undefined ? undefined : { cursor });

async function allPages(pageOf: (cursor?: string) => Promise<Page>): Promise<readonly string[]> {
  const all: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const { names, nextCursor } = await pageOf(cursor);
    all.push(...names);
    if (nextCursor === undefined) break;
    cursor = nextCursor;
  }
  return all;
}

interface ToolResult {
  readonly content?: readonly { readonly text?: string }[];
  readonly isError?: boolean;
}

function textOf({ content = [], isError }: ToolResult): string {
  const text = content[0]?.text ?? "";
  if (isError === true) throw new Error(`isError: ${text}`);
  return text;
}
