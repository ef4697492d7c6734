import { describe, expect, expectTypeOf, it } from "vitest";
import { adminClient, AdminError, type AdminAnswer } from "../../src/admin/admin-client.ts";
import { adminEnv, appOf, newTenant, ORIGIN, ROOT } from "../support/workerd/admin.ts";

const app = appOf();
const requests: string[] = [];
const admin = adminClient({
  url: `${ORIGIN}/`,
  token: ROOT,
  fetch: async (url, init) => {
    requests.push(`${init.method} ${url}`);
    return app.fetch(new Request(url, init), adminEnv);
  },
});
const uniqueId = () => `t-${crypto.randomUUID().slice(0, 8)}`;

it("the client makes a tenant and a key, and reads both", async () => {
  const id = uniqueId();
  const made = await admin.request("POST /tenants", { body: { id, document: { title: "Acme", mode: "key" } } });
  expect(made).toMatchObject({ id, url: `${ORIGIN}/mcp/${id}`, own: { title: "Acme" } });
  const { token, ...key } = await admin.request("POST /tenants/{id}/keys", { params: { id }, body: { name: "first" } });
  expect(token).toMatch(/^tnt_/);
  const { items } = await admin.request("GET /tenants/{id}/keys", { params: { id } });
  expect(items).toEqual([key]);
  expect(await admin.request("DELETE /tenants/{id}", { params: { id } })).toBeUndefined();
});

it("the client's dry run says what a request would do", async () => {
  const id = uniqueId();
  const supposed = await admin.dryRun("POST /tenants", { body: { id } });
  expect(supposed).toMatchObject({ dryRun: true, changed: true });
  const params = { id };
  await expect(admin.request("GET /tenants/{id}", { params })).rejects.toMatchObject({ status: 404 });
});

it("the client gives a list page by page", async () => {
  const id = await newTenant();
  const params = { id };
  for (const name of ["a", "b", "c"]) await admin.request("POST /tenants/{id}/keys", { params, body: { name } });
  const pages: string[][] = [];
  for await (const page of admin.pages("GET /tenants/{id}/keys", { params, query: { limit: 2 } })) {
    pages.push(page.map(({ name }) => name));
  }
  expect(pages).toEqual([["a", "b"], ["c"]]);
  const { cursor } = await admin.request("GET /tenants/{id}/keys", { params, query: { limit: 2 } });
  const rest = admin.pages("GET /tenants/{id}/keys", { params, query: { limit: 2, cursor } });
  expect((await rest.next()).value?.map(({ name }: { name: string }) => name)).toEqual(["c"]);
});

it("the client sends content as it is, and gives its answer as it is", async () => {
  const params = { id: await newTenant() };
  const query = { uri: "note://a b".replace(" ", "%20"), tag: ["x", "y"], binary: false, title: undefined };
  const headers = { "content-type": "text/plain" };
  const put = "PUT /tenants/{id}/resources/content";
  expect(await admin.request(put, { params, query, headers, content: "hello" })).toMatchObject({
    uri: "note://a%20b",
    tags: ["x", "y"],
    size: 5,
  });
  const response = await admin.response("GET /tenants/{id}/resources/content", { params, query: { uri: query.uri } });
  expect([response.headers.get("content-type"), await response.text()]).toEqual(["text/plain", "hello"]);
});

describe("a refusal", () => {
  it("is an error with its status and each field that is wrong", async () => {
    const body = { id: "A", document: { title: "x".repeat(2001) } };
    const error = await admin.request("POST /tenants", { body }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AdminError);
    expect(error).toMatchObject({
      status: 422,
      message:
        "Invalid input; id: 1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit; title: at most 2000 characters",
      problem: { errors: [{ field: "id" }, { field: "title" }] },
    });
  });

  it.each([
    [404, {}, ""],
    [200, {}, ""],
    [301, { location: "https://www.example.com/" }, " and redirects to https://www.example.com/"],
  ])("of a server without the admin API, which answers %s, says so", async (status, headers, elsewhere) => {
    const other = adminClient({ url: ORIGIN, fetch: async () => new Response("<h1>Hello</h1>", { status, headers }) });
    const error = await other.request("GET /tenants").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AdminError);
    const why = "no admin API is there. url must be the Worker's URL, without /mcp/TENANT";
    expect(error).toMatchObject({
      status,
      message: `${ORIGIN}/admin/v1/tenants answered ${status}${elsewhere}: ${why}`,
    });
  });
});

/** A client whose every request is answered so. */
const answered = (body: string | null, init: ResponseInit) =>
  adminClient({ url: `${ORIGIN}/mcp/acme`, fetch: async () => new Response(body, init) });
const refusal = async (client: ReturnType<typeof adminClient>) =>
  client.request("GET /tenants").catch((thrown: unknown) => thrown);

describe("an error that is not a problem document", () => {
  it.each([500, 502, 503, 520])("is no wrong address with status %s", async (status) => {
    const error = await refusal(answered("<h1>Bad gateway</h1>", { status }));
    const message = `${ORIGIN}/mcp/acme/admin/v1/tenants answered ${status}, but not like the admin API`;
    expect(error).toBeInstanceOf(AdminError);
    expect(error).toMatchObject({ status, message });
  });

  it.each([
    [404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Not found"}}`],
    [400, `{"errors":"x"}`],
    [400, `{"title":"No","errors":[null]}`],
    [400, "[null]"],
  ])("is called a wrong address with status %s and %s", async (status, body) => {
    const error = await refusal(answered(body, { status }));
    expect(error).toBeInstanceOf(AdminError);
    expect(error).toMatchObject({ status, message: expect.stringContaining("without /mcp/TENANT") });
  });
});

it("an error of the client has the server's Retry-After", async () => {
  const busy = { status: 503, headers: { "retry-after": "7" } };
  expect(await refusal(answered(`{"title":"Too busy"}`, busy))).toMatchObject({ retryAfter: 7, message: "Too busy" });
  expect(await refusal(answered(`{"title":"No"}`, { status: 404 }))).toMatchObject({ retryAfter: undefined });
});

it("the client returns a 304 for a request with if-none-match", async () => {
  const params = { id: await newTenant() };
  const route = "GET /tenants/{id}/document";
  const etag = (await admin.response(route, { params })).headers.get("etag") ?? "";
  const headers = { "if-none-match": etag };
  expect((await admin.response(route, { params, headers })).status).toBe(304);
  const thrown = admin.request(route, { params, headers });
  await expect(thrown).rejects.toThrow("Not changed: use response(), which returns the 304");
});

it("the client ends a list whose cursor repeats", async () => {
  const pages = answered(`{"items":[],"cursor":"a"}`, { status: 200 }).pages("GET /tenants");
  expect([await pages.next(), await pages.next()]).toHaveLength(2);
  await expect(pages.next()).rejects.toThrow("GET /tenants: the server sent the same cursor again");
});

it("the client names the address that it cannot reach", async () => {
  const url = "http://127.0.0.1:1";
  const error = await refusal(adminClient({ url }));
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ message: expect.stringContaining(`${url}/admin/v1/tenants cannot be reached: `) });
});

it.each(["", " "])('a client is not made with the token "%s"', (token) => {
  expect(() => adminClient({ url: ORIGIN, token })).toThrow("token: is empty");
});

it.each([undefined as never, "", "localhost:8362", "mcp.example.com", "https://mcp.example.com/?a=1"])(
  "a client is not made for the url %s",
  (url) => {
    expect(() => adminClient({ url })).toThrow(
      "url: must be the address of the Worker, such as https://mcp.example.com",
    );
  },
);

it("the client asks nothing for a parameter that is missing", async () => {
  const before = requests.length;
  const params = { id: undefined as never };
  await expect(admin.request("DELETE /tenants/{id}", { params })).rejects.toThrow('id: "" is not a valid name');
  expect(requests.slice(before)).toEqual([]);
});

it("the client asks nothing for a parameter that would lead elsewhere", async () => {
  const before = requests.length;
  const params = { id: await newTenant(), name: ".." };
  await expect(admin.request("DELETE /tenants/{id}/secrets/{name}", { params })).rejects.toThrow(
    'name: ".." is not a valid name',
  );
  expect(requests.slice(before)).toEqual([]);
});

it("the client has the types of the endpoints", () => {
  const refused = () => [
    // @ts-expect-error a member of a document that is misspelt
    admin.request("POST /tenants", { body: { id: "a", document: { titel: "A" } } }),
    // @ts-expect-error parameters that are missing
    admin.request("GET /tenants/{id}"),
    // @ts-expect-error an endpoint that is none
    admin.request("GET /tenant"),
    // @ts-expect-error a list that is none
    admin.pages("GET /tenants/{id}", { params: { id: "a" } }),
  ];
  expect(refused).toBeTypeOf("function");
  expectTypeOf<AdminAnswer<"GET /tenants/{id}/usage">>().toMatchObjectType<{ keys: number }>();
  expectTypeOf<AdminAnswer<"DELETE /tenants/{id}">>().toBeUndefined();
});
