// The door by which requests leave: every hop is looked at, what comes back is bounded, and nothing of the caller goes
// along. The network is a table of answers here; test/e2e/outbound.test.ts asks a real one.

import { describe, expect, it, vi } from "vitest";
import { GuardedFetch, type GuardedFetchOptions } from "../../src/outbound/guarded-fetch.ts";
import { OutboundError } from "../../src/outbound/outbound-error.ts";

type Answer = Response | ((request: Request) => Response | Promise<Response>);

interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** What a name stands for; every other is a public place. */
const INSIDE: Record<string, string[]> = { "rebinds.example.com": ["127.0.0.1"], "nowhere.example.com": [] };

function guardedFetchTo(answers: Record<string, Answer>, about: Partial<GuardedFetchOptions> = {}) {
  const sent: Sent[] = [];
  const guardedFetch = new GuardedFetch({
    tenant: crypto.randomUUID(),
    hops: 0,
    signal: () => new AbortController().signal,
    allow: undefined,
    resolve: (name) => Promise.resolve(INSIDE[name] ?? ["1.1.1.1"]),
    fetch: async (request) => {
      const body = await request.clone().text();
      sent.push({ url: request.url, method: request.method, headers: Object.fromEntries(request.headers), body });
      const answer = answers[request.url];
      if (!answer) throw new Error(`nobody serves ${request.url}`);
      return typeof answer === "function" ? answer(request) : answer;
    },
    ...about,
  });
  return { guardedFetch, sent };
}

const to = (location: string, status = 302) => new Response("moved", { status, headers: { location } });
const ok = () => new Response("here");

async function ruleOf(fetching: Promise<Response>): Promise<string> {
  try {
    await (await fetching).text();
  } catch (error) {
    if (error instanceof OutboundError) return error.code;
    throw error;
  }
  return "passed";
}

describe("a redirect", () => {
  it.each([
    ["https://10.0.0.1/", "address"],
    ["https://[::ffff:169.254.169.254]/latest/meta-data/", "address"],
    ["https://0x7f.1/", "address"],
    ["//127.1/", "address"],
    ["https://localhost/", "name"],
    ["https://rebinds.example.com/", "address"],
    ["https://nowhere.example.com/", "resolution"],
    ["http://example.com/", "scheme"],
    ["ftp://example.com/", "scheme"],
    ["javascript:alert(1)", "scheme"],
    ["https://user:password@example.com/", "credentials"],
    ["https://[::1", "url"],
  ])("to %s is refused at whatever hop", async (location, rule) => {
    const first = "https://a.example.com/";
    const { guardedFetch, sent } = guardedFetchTo({
      [first]: to("/two"),
      [`${first}two`]: to("/three"),
      [`${first}three`]: to(location),
    });
    expect(await ruleOf(guardedFetch.fetch(first))).toBe(rule);
    expect(sent.map(({ url }) => url)).toEqual([first, `${first}two`, `${first}three`]);
  });

  it("is followed five times, and no more", async () => {
    const chain = (length: number): Record<string, Answer> =>
      Object.fromEntries(
        Array.from({ length: length + 1 }, (_, at) => [
          `https://a.example.com/${at}`,
          at < length ? to(`/${at + 1}`) : ok(),
        ]),
      );
    expect(await ruleOf(guardedFetchTo(chain(5)).guardedFetch.fetch("https://a.example.com/0"))).toBe("passed");
    const { guardedFetch, sent } = guardedFetchTo(chain(6));
    expect(await ruleOf(guardedFetch.fetch("https://a.example.com/0"))).toBe("redirects");
    expect(sent).toHaveLength(6);
  });

  it.each([
    [301, "POST", "GET", ""],
    [302, "post", "GET", ""],
    [303, "POST", "GET", ""],
    [307, "post", "POST", "text"],
    [308, "POST", "POST", "text"],
    [301, "PUT", "PUT", "text"],
    [302, "PUT", "PUT", "text"],
    [303, "PUT", "GET", ""],
  ])("%i of a %s goes on as %s with the body %j", async (status, method, next, body) => {
    const { guardedFetch, sent } = guardedFetchTo({
      "https://a.example.com/": to("/b", status),
      "https://a.example.com/b": ok(),
    });
    await guardedFetch.fetch("https://a.example.com/", { method, body: "text", headers: { "content-language": "en" } });
    expect(sent[1]).toMatchObject({ method: next, body });
    expect(Object.keys(sent[1]?.headers ?? {}).filter((name) => name.startsWith("content-")).length > 0).toBe(
      body !== "",
    );
  });

  it.each([301, 303])("%i of a HEAD stays one", async (status) => {
    const { guardedFetch, sent } = guardedFetchTo({
      "https://a.example.com/": to("/b", status),
      "https://a.example.com/b": () => new Response(null),
    });
    await guardedFetch.fetch("https://a.example.com/", { method: "HEAD" });
    expect(sent[1]?.method).toBe("HEAD");
  });

  it("is refused where it wants a body again that was a stream", async () => {
    const answers = { "https://a.example.com/": to("/b", 307), "https://a.example.com/b": ok() };
    const body = new Blob(["text"]).stream();
    expect(
      await ruleOf(guardedFetchTo(answers).guardedFetch.fetch("https://a.example.com/", { method: "POST", body })),
    ).toBe("body");
    const request = new Request("https://a.example.com/", { method: "POST", body: "text" });
    expect(await ruleOf(guardedFetchTo(answers).guardedFetch.fetch(request))).toBe("body");
  });

  it("drops credentials and headers that the author marked when it leads to another origin", async () => {
    const headers = {
      authorization: "Bearer x",
      cookie: "a=b",
      "proxy-authorization": "x",
      "x-api-key": "x",
      "x-auth": "x",
      "mcp-session-id": "x",
      "x-marked": "x",
      accept: "text/plain",
    };
    for (const [location, kept] of [
      ["/b", Object.keys(headers)],
      ["https://b.example.com/", ["accept"]],
      ["https://a.example.com:8443/", ["accept"]],
    ] as const) {
      const target = new URL(location, "https://a.example.com/").href;
      const { guardedFetch, sent } = guardedFetchTo({ "https://a.example.com/": to(location), [target]: ok() });
      await guardedFetch.fetch("https://a.example.com/", { headers, sensitiveHeaders: ["X-Marked"] });
      expect(Object.keys(sent[0]?.headers ?? {})).toEqual(expect.arrayContaining(Object.keys(headers)));
      const names = Object.keys(sent[1]?.headers ?? {}).filter((name) => name in headers);
      expect(names.toSorted(), location).toEqual([...kept].toSorted());
    }
  });

  it("is not followed with redirect: manual or error", async () => {
    const answers = { "https://a.example.com/": to("http://10.0.0.1/") };
    const manual = await guardedFetchTo(answers).guardedFetch.fetch("https://a.example.com/", { redirect: "manual" });
    expect([manual.status, manual.headers.get("location")]).toEqual([302, "http://10.0.0.1/"]);
    const { guardedFetch } = guardedFetchTo({ "https://a.example.com/": to("/") });
    expect(await ruleOf(guardedFetch.fetch("https://a.example.com/", { redirect: "error" }))).toBe("redirects");
  });

  it("is an answer where it names no place to go", async () => {
    const { guardedFetch } = guardedFetchTo({ "https://a.example.com/": new Response("none", { status: 302 }) });
    expect((await guardedFetch.fetch("https://a.example.com/")).status).toBe(302);
  });

  it("shows in the answer as it does with the global fetch", async () => {
    const { guardedFetch } = guardedFetchTo({
      "https://a.example.com/": to("/b#there"),
      "https://a.example.com/b": ok(),
      "https://a.example.com/c": ok(),
    });
    const moved = await guardedFetch.fetch("https://a.example.com/#part");
    expect([moved.url, moved.redirected, await moved.text()]).toEqual(["https://a.example.com/b", true, "here"]);
    const direct = await guardedFetch.fetch(new URL("https://a.example.com/c"));
    expect([direct.url, direct.redirected]).toEqual(["https://a.example.com/c", false]);
  });
});

describe("a first request", () => {
  it.each([
    ["no url", "url"],
    ["/relative", "url"],
    ["http://example.com/", "scheme"],
    ["https://2130706433/", "address"],
    ["https://rebinds.example.com/", "address"],
  ])("to %s is refused and nothing is sent", async (url, rule) => {
    const { guardedFetch, sent } = guardedFetchTo({});
    expect(await ruleOf(guardedFetch.fetch(url))).toBe(rule);
    expect(sent).toEqual([]);
  });

  it("says the rule, and never what a name stands for", async () => {
    const { guardedFetch } = guardedFetchTo({});
    const error = await guardedFetch.fetch("https://rebinds.example.com/").catch(String);
    expect(error).toBe(
      "OutboundError: outbound request refused (address): the address is not public, and OUTBOUND_ALLOW does not list the host",
    );
  });

  it("is refused where it is for a WebSocket", async () => {
    const { guardedFetch, sent } = guardedFetchTo({});
    expect(await ruleOf(guardedFetch.fetch("https://a.example.com/", { headers: { upgrade: "websocket" } }))).toBe(
      "upgrade",
    );
    expect(sent).toEqual([]);
  });

  it("counts one more Worker, whatever the author wrote", async () => {
    const { guardedFetch, sent } = guardedFetchTo(
      { "https://a.example.com/": to("/b"), "https://a.example.com/b": ok() },
      { hops: 3 },
    );
    await guardedFetch.fetch("https://a.example.com/", { headers: { "tenantry-hops": "0" } });
    expect(sent.map(({ headers }) => headers["tenantry-hops"])).toEqual(["4", "4"]);
  });
});

describe("an answer", () => {
  const bytes = (count: number) => () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          if (count <= 0) return controller.close();
          controller.enqueue(new Uint8Array(Math.min(count, 1000)));
          count -= 1000;
        },
      }),
    );

  it("is read up to its cap to the byte, and ends in an error beyond", async () => {
    const url = "https://a.example.com/";
    expect(await ruleOf(guardedFetchTo({ [url]: bytes(5000) }).guardedFetch.fetch(url, { maxBytes: 5000 }))).toBe(
      "passed",
    );
    expect(await ruleOf(guardedFetchTo({ [url]: bytes(5001) }).guardedFetch.fetch(url, { maxBytes: 5000 }))).toBe(
      "size",
    );
    expect(await ruleOf(guardedFetchTo({ [url]: bytes(8 * 1024 * 1024) }).guardedFetch.fetch(url))).toBe("passed");
    expect(await ruleOf(guardedFetchTo({ [url]: bytes(8 * 1024 * 1024 + 1) }).guardedFetch.fetch(url))).toBe("size");
  });

  it("is left at its cap where it never ends", async () => {
    let isLeft = false;
    const endless = () =>
      new Response(
        new ReadableStream<Uint8Array>({
          pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)),
          cancel: () => {
            isLeft = true;
          },
        }),
      );
    expect(
      await ruleOf(guardedFetchTo({ "https://a.example.com/": endless }).guardedFetch.fetch("https://a.example.com/")),
    ).toBe("size");
    expect(isLeft).toBe(true);
  });

  it("is refused before it is read where its length says that it is too long", async () => {
    const long = new Response("x", { headers: { "content-length": "9000000" } });
    const { guardedFetch } = guardedFetchTo({ "https://a.example.com/": long });
    await expect(guardedFetch.fetch("https://a.example.com/")).rejects.toThrow(/too large/);
  });

  it("is refused where it does not come in time", async () => {
    const never = (request: Request) =>
      new Promise<Response>((_resolve, reject) => {
        request.signal.addEventListener("abort", () => reject(request.signal.reason as Error));
      });
    const { guardedFetch } = guardedFetchTo({ "https://a.example.com/": never }, { timeoutMs: 20 });
    expect(await ruleOf(guardedFetch.fetch("https://a.example.com/"))).toBe("time");
  });

  it("ends with the call, or with the signal that the author gave", async () => {
    const never = (request: Request) =>
      new Promise<Response>((_resolve, reject) => {
        request.signal.addEventListener("abort", () => reject(request.signal.reason as Error));
      });
    const call = new AbortController();
    const own = new AbortController();
    const { guardedFetch, sent } = guardedFetchTo({ "https://a.example.com/": never }, { signal: () => call.signal });
    const ofCall = guardedFetch.fetch("https://a.example.com/");
    const ofAuthor = guardedFetch.fetch("https://a.example.com/", { signal: own.signal });
    await vi.waitUntil(() => sent.length === 2, { timeout: 15_000 });
    call.abort(new Error("the call is over"));
    await expect(ofCall).rejects.toThrow("the call is over");
    own.abort(new Error("enough"));
    await expect(ofAuthor).rejects.toThrow("enough");
  });
});

describe("requests under way", () => {
  const many = (guardedFetch: GuardedFetch, count: number) =>
    Promise.all(Array.from({ length: count }, () => guardedFetch.fetch("https://a.example.com/")));
  const answers = { "https://a.example.com/": () => new Response("text") };

  it("are at most 32 of a call, until one was read, left or had no body", async () => {
    const { guardedFetch } = guardedFetchTo({
      ...answers,
      "https://a.example.com/none": () => new Response(null, { status: 204 }),
    });
    const open = await many(guardedFetch, 31);
    await guardedFetch.fetch("https://a.example.com/none");
    open.push(...(await many(guardedFetch, 1)));
    expect(await ruleOf(guardedFetch.fetch("https://a.example.com/"))).toBe("connections");
    await open[0]?.text();
    await open[1]?.body?.cancel();
    await many(guardedFetch, 2);
    expect(await ruleOf(guardedFetch.fetch("https://a.example.com/"))).toBe("connections");
  });

  it("count until onEnd runs where the caller reads for itself", async () => {
    const { guardedFetch } = guardedFetchTo(answers);
    const ends: (() => void)[] = [];
    const onEnd = (run: () => void) => ends.push(run);
    for (let at = 0; at < 32; at += 1) {
      const response = await guardedFetch.fetch("https://a.example.com/", { onEnd });
      expect(await response.text()).toBe("text");
    }
    expect(await ruleOf(guardedFetch.fetch("https://a.example.com/"))).toBe("connections");
    ends[0]?.();
    await many(guardedFetch, 1);
    expect(await ruleOf(guardedFetch.fetch("https://a.example.com/"))).toBe("connections");
  });

  it("do not count once they were refused", async () => {
    const { guardedFetch } = guardedFetchTo(answers);
    for (let at = 0; at < 40; at += 1) await ruleOf(guardedFetch.fetch("https://10.0.0.1/"));
    for (let at = 0; at < 40; at += 1)
      await ruleOf(guardedFetch.fetch("https://a.example.com/unknown")).catch(() => {});
    await many(guardedFetch, 32);
  });

  it("are at most 128 of a tenant, whatever another has open", async () => {
    const guardedFetches = Array.from({ length: 4 }, () => guardedFetchTo(answers, { tenant: "counted" }).guardedFetch);
    const { guardedFetch: last } = guardedFetchTo(answers, { tenant: "counted" });
    for (const guardedFetch of guardedFetches) await many(guardedFetch, 32);
    expect(await ruleOf(last.fetch("https://a.example.com/"))).toBe("connections");
    await many(guardedFetchTo(answers, { tenant: "another" }).guardedFetch, 32);
    for (const guardedFetch of guardedFetches) guardedFetch.close();
    await many(guardedFetchTo(answers, { tenant: "counted" }).guardedFetch, 32);
  });

  it("end with their call: none begins after it, and one that is read late is not counted twice", async () => {
    const { guardedFetch } = guardedFetchTo(answers, { tenant: "late" });
    const open = await many(guardedFetch, 32);
    guardedFetch.close();
    expect(await ruleOf(guardedFetch.fetch("https://a.example.com/"))).toBe("over");
    await Promise.all(open.map((response) => response.text()));
    const guardedFetches = Array.from({ length: 4 }, () => guardedFetchTo(answers, { tenant: "late" }).guardedFetch);
    const { guardedFetch: last } = guardedFetchTo(answers, { tenant: "late" });
    for (const each of guardedFetches) await many(each, 32);
    expect(await ruleOf(last.fetch("https://a.example.com/"))).toBe("connections");
  });

  it("count for three minutes where their call was dropped without a word", async () => {
    const begun = Date.now();
    const at = (now: number) => guardedFetchTo(answers, { tenant: "dropped", now: () => now }).guardedFetch;
    for (let calls = 0; calls < 4; calls += 1) await many(at(begun), 32);
    expect(await ruleOf(at(begun + 179_999).fetch("https://a.example.com/"))).toBe("connections");
    // Those that began since count.
    for (let calls = 0; calls < 4; calls += 1) await many(at(begun + 180_000), 32);
    expect(await ruleOf(at(begun + 180_000).fetch("https://a.example.com/"))).toBe("connections");
  });
});
