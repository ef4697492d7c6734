// What comes of a row by an official client on the server itself; how a client is asked serves the gateway, too.

import { LISTS, type ListName, type OddRow, type Request } from "./odd-row.ts";
import { connected, hangs, type Face, type Version } from "./official-client.ts";
import { requestsOf, type Answer, type Listing, type Outcome } from "./outcome.ts";
import { limitsOf } from "./pace.ts";

/** The names under which a way offers what a row has. */
interface Names {
  readonly lists: Readonly<Record<ListName, string>>;
  readonly targets: Readonly<Record<Request, string>>;
}

export function namesOf(row: OddRow, prefix = ""): Names {
  const [tool, prompt] = [`${prefix}go`, `${prefix}hello`];
  const [uri, template] = [`${row.id}://note`, `${row.id}://notes/{n}`];
  return {
    lists: { tools: tool, prompts: prompt, resources: uri, templates: template },
    targets: { call: tool, get: prompt, read: uri },
  };
}

export async function measureDirectly(version: Version, row: OddRow, url: string): Promise<Outcome> {
  let face: Face;
  try {
    face = await connected(version, url, limitsOf(row).client);
  } catch (error) {
    return unconnected(row, error);
  }
  try {
    const lines: string[] = [];
    const names = namesOf(row);
    const listed = await Promise.all(
      LISTS.map(async (list): Promise<readonly [ListName, Listing]> => {
        try {
          return [list, listingOf(await face.list(list), names.lists[list])];
        } catch (error) {
          lines.push(`${list}: ${messageOf(error)}`);
          return [list, "none"];
        }
      }),
    );
    const lists = Object.fromEntries(listed) as Outcome["lists"];
    return { isConnected: true, lists, answers: await answersOf(face, row, { names, lists, lines }), said: lines };
  } finally {
    await face.close();
  }
}

export function unconnected(row: OddRow, error: unknown): Outcome {
  const lists = Object.fromEntries(LISTS.map((list) => [list, "none"])) as Outcome["lists"];
  const answers = Object.fromEntries(requestsOf(row).map((request) => [request, failureOf(row, error)]));
  return { isConnected: false, lists, answers, said: [`connect: ${messageOf(error)}`] };
}

/** A server that lists no more than it should has one thing in each list. */
export const listingOf = (all: readonly string[], wanted: string): Listing => {
  if (all.includes(wanted)) return "all";
  return all.length > 0 ? "partly" : "none";
};

interface Answering {
  readonly names: Names;
  readonly lists: Outcome["lists"];
  readonly lines: string[];
}

const LIST_OF: Readonly<Record<Request, ListName>> = { call: "tools", get: "prompts", read: "resources" };

/** What is not listed is not asked for, as in applications. */
export async function answersOf(
  face: Face,
  row: OddRow,
  { names, lists, lines }: Answering,
): Promise<Outcome["answers"]> {
  const answers = await Promise.all(
    requestsOf(row).map(async (request): Promise<readonly [Request, Answer]> => {
      if (lists[LIST_OF[request]] !== "all") return [request, "error"];
      try {
        const text = await face[request](names.targets[request]);
        if (text !== "went") lines.push(`${request}: ${JSON.stringify(text)}`);
        return [request, text === "went" ? "went" : "other"];
      } catch (error) {
        lines.push(`${request}: ${messageOf(error)}`);
        return [request, failureOf(row, error)];
      }
    }),
  );
  return Object.fromEntries(answers);
}

function failureOf({ words }: OddRow, error: unknown): Answer {
  if (hangs(error)) return "hangs";
  return words !== undefined && messageOf(error).includes(words) ? "words" : "error";
}

function messageOf(error: unknown): string {
  const { code, message } = error as { code?: number | string; message: string };
  return `${code === undefined ? "" : `${code} `}${message}`.replaceAll(/\s+/g, " ").slice(0, 300);
}
