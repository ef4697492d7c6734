// A host of clients' documents that answers as a test says, in place of the internet.

import { onTestFinished, vi } from "vitest";

type ClientDocument = Readonly<Record<string, unknown>>;

export interface ClientHost {
  readonly origin: string;
  /** Paths that were asked for, in order. */
  readonly requests: readonly string[];
  /** What every path answers; absent: the document that was put there. */
  answer: ((init: RequestInit) => Response | Promise<Response>) | undefined;
  /** Puts a document there, with its URL for an id unless it says another; says the URL. */
  put(path: string, said: ClientDocument, headers?: Record<string, string>): string;
}

/** Until the test is over. */
export function clientHost(): ClientHost {
  const origin = "https://clients.example.com";
  const requests: string[] = [];
  const documents = new Map<string, () => Response>();
  const made: ClientHost = {
    origin,
    requests,
    answer: undefined,
    put: (path, said, headers = {}) => {
      documents.set(path, () => Response.json({ client_id: origin + path, ...said }, { headers }));
      return origin + path;
    },
  };
  const stand = vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init = {}) => {
    const url = input instanceof Request ? input.url : input.toString();
    const path = url.replace(origin, "");
    requests.push(path);
    return made.answer ? made.answer(init) : (documents.get(path)?.() ?? new Response(null, { status: 404 }));
  });
  onTestFinished(() => stand.mockRestore());
  return made;
}
