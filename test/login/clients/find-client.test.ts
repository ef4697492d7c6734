import { describe, expect, onTestFinished, test, vi } from "vitest";
import { findClient } from "../../../src/login/server/find-client.ts";
import type { LoginClient } from "../../../src/login/server/login-records.ts";
import type { LoginDocument } from "../../../src/tenants/document/tenant-document.ts";
import { clientHost } from "./client-host.ts";
import { fakeClientLookup, type FakeClientLookup } from "./fake-client-lookup.ts";

const REDIRECT = "https://app.example/cb";
const CLIENT_DOCUMENT = { client_name: "App", redirect_uris: [REDIRECT] };
const MINUTE = 60_000;
const DAY = 86_400_000;

const find = (clientLookup: FakeClientLookup, id: string, login: Partial<LoginDocument> = {}, address = "a") =>
  findClient({ tenantContext: clientLookup.tend, clientAddress: address, login: { via: "key", ...login } }, id);

const storedClient = (id: string, name = "As it was"): LoginClient => {
  const client = { name, site: undefined, redirects: [REDIRECT], method: "none" } as const;
  return { id, kind: "document", ...client, secretHash: null, digest: "before" };
};

describe("a document", () => {
  test("is read once while it is fresh", async () => {
    const [host, clientLookup] = [clientHost(), fakeClientLookup()];
    const id = host.put("/client.json", CLIENT_DOCUMENT);
    const client = await find(clientLookup, id);
    expect(client).toMatchObject({ id, kind: "document", name: "App", redirects: [REDIRECT], method: "none" });
    expect(await find(clientLookup, id)).toEqual(client);
    expect(host.requests).toEqual(["/client.json"]);
  });

  test.each([
    { says: undefined, minutes: 5 },
    { says: "no-store", minutes: 5 },
    { says: "max-age=0", minutes: 5 },
    { says: "public, max-age=3600", minutes: 60 },
    { says: "s-maxage=7200,max-age=3600", minutes: 60 },
    { says: "max-age=99999999999999999999", minutes: 1440 },
    { says: "max-age=-1", minutes: 5 },
    { says: "max-age=x", minutes: 5 },
  ])("that says $says is fresh for $minutes minutes", async ({ says, minutes }) => {
    const [host, clientLookup] = [clientHost(), fakeClientLookup()];
    const before = Date.now();
    await find(
      clientLookup,
      host.put("/client.json", CLIENT_DOCUMENT, says === undefined ? {} : { "cache-control": says }),
    );
    const [stored] = clientLookup.stored.values();
    expect(stored?.freshUntil).toBeGreaterThanOrEqual(before + minutes * MINUTE);
    expect(stored?.freshUntil).toBeLessThanOrEqual(Date.now() + minutes * MINUTE);
  });

  test("needs consent again when the members shown at consent change, and only then", async () => {
    const host = clientHost();
    const digestOf = async (said: object) => {
      const client = await find(fakeClientLookup(), host.put("/client.json", { ...CLIENT_DOCUMENT, ...said }));
      return (client as LoginClient).digest;
    };
    const digest = await digestOf({});
    expect(await digestOf({ logo_uri: "https://app.example/logo.png" })).toBe(digest);
    expect(await digestOf({ redirect_uris: [REDIRECT, "https://app.example/b"] })).toBe(digest);
    const others = [await digestOf({ client_name: "Other" }), await digestOf({ client_uri: "https://app.example" })];
    expect(new Set([digest, ...others]).size).toBe(3);
  });

  test("is read again when it is fresh no more, and taken as it is", async () => {
    const [host, clientLookup] = [clientHost(), fakeClientLookup()];
    const id = host.put("/client.json", CLIENT_DOCUMENT);
    clientLookup.stored.set(id, { client: storedClient(id), freshUntil: Date.now() - 1 });
    expect(await find(clientLookup, id)).toMatchObject({ name: "App" });
    expect(clientLookup.stored.get(id)?.client.name).toBe("App");
  });

  test("is used as it is read if there is no room to store it", async () => {
    const [host, clientLookup] = [clientHost(), fakeClientLookup({ isFull: true })];
    expect(await find(clientLookup, host.put("/client.json", CLIENT_DOCUMENT))).toMatchObject({ name: "App" });
  });
});

describe("a host inside of a network, which operators let tools reach", () => {
  const id = "https://tools.corp/client.json";
  const inside = () => {
    const [host, clientLookup] = [clientHost(), fakeClientLookup()];
    host.answer = async () => Response.json({ client_id: id, ...CLIENT_DOCUMENT });
    const tend = { ...clientLookup.tend, env: { ...(clientLookup.tend.env as object), OUTBOUND_ALLOW: "*.corp" } };
    return { host, clientLookup: { ...clientLookup, tend: tend as FakeClientLookup["tend"] } };
  };

  test("is not requested for a client id of a stranger", async () => {
    const { host, clientLookup } = inside();
    expect(await find(clientLookup, id)).toMatchObject({ kind: "clientRefusal" });
    expect(host.requests).toEqual([]);
  });

  test.each([{ clients: [id] }, { pinned: { [id]: { client_id: id, ...CLIENT_DOCUMENT } } }])(
    "is asked for the document of a client that operators name: %j",
    async (login) => {
      const { host, clientLookup } = inside();
      expect(await find(clientLookup, id, login)).toMatchObject({ id, name: "App" });
      expect(host.requests).toEqual([id]);
    },
  );
});

const AWAY: readonly { what: string; status?: number; headers?: Record<string, string>; body?: string }[] = [
  { what: "403 with a page", status: 403, headers: { "content-type": "text/html" }, body: "<html>" },
  { what: "a page", headers: { "content-type": "text/html" }, body: "<html>" },
  { what: "503", status: 503, body: "{}" },
  { what: "a redirect to itself", status: 302, headers: { location: "/client.json" } },
  { what: "no JSON", body: '{"client_id":' },
  { what: "JSON that says it is text", headers: { "content-type": "text/plain" }, body: "{}" },
  { what: "more than a document has", body: `{"a":"${"a".repeat(6000)}"}` },
  { what: "a length that no document has", headers: { "content-length": "50000000" }, body: "{}" },
];

describe.each(AWAY)("where a host answers $what", ({ status = 200, headers = {}, body = "" }) => {
  function away() {
    const host = clientHost();
    host.answer = () => new Response(body, { status, headers: { "content-type": "application/json", ...headers } });
    return { host, clientLookup: fakeClientLookup(), id: `${host.origin}/client.json` };
  }

  test("its document is taken as it last was, for thirty days", async () => {
    const { clientLookup, id } = away();
    clientLookup.stored.set(id, { client: storedClient(id), freshUntil: Date.now() - 29 * DAY });
    expect(await find(clientLookup, id, { pinned: { [id]: { client_id: id, ...CLIENT_DOCUMENT } } })).toMatchObject({
      name: "As it was",
    });
    expect(clientLookup.errors).toHaveLength(1);
    clientLookup.stored.set(id, { client: storedClient(id), freshUntil: Date.now() - 31 * DAY });
    expect(await find(clientLookup, id)).toMatchObject({ kind: "clientRefusal" });
  });

  test("its document is taken as operators pinned it, if it never was read", async () => {
    const { host, clientLookup, id } = away();
    expect(await find(clientLookup, id, { pinned: { [id]: { client_id: id, ...CLIENT_DOCUMENT } } })).toMatchObject({
      id,
      kind: "document",
      name: "App",
    });
    expect(clientLookup.stored.size).toBe(0);
    expect(host.requests).toHaveLength(1);
    const other = { [id]: { client_id: `${id}x`, ...CLIENT_DOCUMENT } };
    expect(await find(clientLookup, id, { pinned: other })).toMatchObject({ kind: "clientRefusal" });
  });
});

test.each([
  { what: "is gone", status: 404, document: {} },
  { what: "is gone for ever", status: 410, document: {} },
  {
    what: "has another id now",
    status: 200,
    document: { client_id: "https://evil.example/client.json", ...CLIENT_DOCUMENT },
  },
  { what: "takes nobody back", status: 200, document: { client_id: "SELF", ...CLIENT_DOCUMENT, redirect_uris: [] } },
  { what: "is a list", status: 200, document: [] },
  { what: "is nothing", status: 200, document: null },
])("a document that $what is refused, whatever it was before", async ({ status, document }) => {
  const [host, clientLookup] = [clientHost(), fakeClientLookup()];
  const id = `${host.origin}/client.json`;
  clientLookup.stored.set(id, { client: storedClient(id), freshUntil: Date.now() - 1 });
  const body = JSON.stringify(document).replace("SELF", id);
  host.answer = () => new Response(body, { status, headers: { "content-type": "application/json" } });
  expect(await find(clientLookup, id, { pinned: { [id]: { client_id: id, ...CLIENT_DOCUMENT } } })).toMatchObject({
    kind: "clientRefusal",
  });
});

test("a document without an end is given up after what one has", async () => {
  const [host, clientLookup] = [clientHost(), fakeClientLookup()];
  let sent = 0;
  const endless = new ReadableStream({
    pull: (controller) => {
      sent += 1024;
      controller.enqueue(new Uint8Array(1024).fill(0x20));
    },
  });
  host.answer = () => new Response(endless, { headers: { "content-type": "application/json" } });
  expect(await find(clientLookup, `${host.origin}/client.json`)).toMatchObject({ kind: "clientRefusal" });
  expect(sent).toBeLessThan(10_000);
});

test("a host that takes its time is waited for five seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const [host, clientLookup] = [clientHost(), fakeClientLookup()];
  const arrival = Promise.withResolvers<AbortSignal | null | undefined>();
  host.answer = ({ signal }) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => reject(new Error("aborted")));
      arrival.resolve(signal);
    });
  const found = find(clientLookup, `${host.origin}/client.json`);
  const signal = await arrival.promise;
  vi.advanceTimersByTime(4_999);
  expect(signal?.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal?.aborted).toBe(true);
  expect(await found).toMatchObject({ kind: "clientRefusal" });
});

const HOSTILE = [
  "https://127.0.0.2/client.json",
  "http://10.0.0.1/client.json",
  "https://10.0.0.1/client.json",
  "https://169.254.169.254/latest/meta-data",
  "https://[::1]/client.json",
  "https://[::ffff:10.0.0.1]/client.json",
  "https://2130706433/client.json",
  "https://0x7f.1/client.json",
  "https://localhost/client.json",
  "https://metadata.internal/client.json",
  "https://intranet/client.json",
  "http://app.example.com/client.json",
  "https://app.example.com:22/client.json",
  "https://app.example.com",
  "https://app.example.com/",
  "https://app.example.com/?client.json",
  "https://app.example.com/a/../client.json",
  "https://app.example.com/a/./client.json",
  "https://app.example.com/a/%2e%2e/client.json",
  "https://app.example.com/client.json#fragment",
  "https://app.example.com/client.json#",
  "https://user@app.example.com/client.json",
  "https://user:pass@app.example.com/client.json",
  "https://@app.example.com/client.json",
  "https://APP.example.com/client.json",
  "HTTPS://app.example.com/client.json",
  "https://app.example.com:443/client.json",
  "https:app.example.com/client.json",
  "https:\\\\app.example.com\\client.json",
  "https://app.example.com\\@evil.example/client.json",
  "https://ａpp.example.com/client.json",
  " https://app.example.com/client.json",
  "https://app.example.com/client.json\n",
  "https://app.example.com/client json",
  `https://app.example.com/${"a".repeat(2048)}`,
  "javascript://app.example.com/client.json",
  "file:///etc/passwd",
  "nobody",
  "",
];

test.each(HOSTILE)("an id like %j is refused without a request", async (id) => {
  const host = clientHost();
  expect(await find(fakeClientLookup(), id, { pinned: { [id]: { client_id: id, ...CLIENT_DOCUMENT } } })).toMatchObject(
    {
      kind: "clientRefusal",
    },
  );
  expect(host.requests).toEqual([]);
});

describe("where operators list clients", () => {
  test("an id that differs in a character is refused without a request", async () => {
    const [host, clientLookup] = [clientHost(), fakeClientLookup()];
    const id = host.put("/client.json", CLIENT_DOCUMENT);
    const clients = [id, "registered-1"];
    const near = [`${id}/`, `${id}?a`, id.toUpperCase(), id.replace("client", "other"), host.origin, "registered-2"];
    for (const one of near) expect(await find(clientLookup, one, { clients })).toMatchObject({ kind: "clientRefusal" });
    expect([host.requests, clientLookup.calls]).toEqual([[], []]);
    expect(await find(clientLookup, id, { clients })).toMatchObject({ name: "App" });
  });

  test("one that registered before is found", async () => {
    const clientLookup = fakeClientLookup();
    const client: LoginClient = { ...storedClient("registered-1"), kind: "registered" };
    clientLookup.stored.set("registered-1", { client, freshUntil: 0 });
    expect(await find(clientLookup, "registered-1", { clients: ["registered-1"] })).toEqual(client);
    expect(await find(clientLookup, "registered-2")).toMatchObject({ kind: "clientRefusal" });
  });
});

test("one address can have a limited number of documents read, and does not limit other addresses", async () => {
  const [host, clientLookup] = [clientHost(), fakeClientLookup()];
  const results = [];
  for (let at = 0; at < 40; at += 1)
    results.push(await find(clientLookup, host.put(`/${at}`, CLIENT_DOCUMENT), {}, "flood"));
  expect(host.requests).toHaveLength(30);
  expect(results.filter(({ kind }) => kind === "clientRefusal")).toHaveLength(10);
  expect(await find(clientLookup, host.put("/other", CLIENT_DOCUMENT), {}, "other")).toMatchObject({ name: "App" });
  expect(await find(clientLookup, `${host.origin}/0`, {}, "flood")).toMatchObject({ name: "App" });
});
