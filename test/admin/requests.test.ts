import { describe, expect, it } from "vitest";
import { adminEnv, adminOptions, appOf, ask, newTenant, ORIGIN, ROOT, rules, send } from "../support/workerd/admin.ts";

const JSON_TYPE = { "content-type": "application/json" };
const put = (id: string, body: BodyInit, headers: Readonly<Record<string, string>> = JSON_TYPE) =>
  ask("PUT", `/tenants/${id}/document`, { body, headers });

describe("a JSON body", () => {
  it.each<[string, string, string, string]>([
    ["names a member twice", '{"title":"a","title":"b"}', "title", "appears twice"],
    ["names it once with an escape", '{"title":"a","\\u0074itle":"b"}', "title", "appears twice"],
    [
      "names it twice deep inside",
      '{"tools":{"add":{"config":[1,{"a":1,"a":2}]}}}',
      "tools.add.config.1.a",
      "appears twice",
    ],
    [
      "has a number of no size",
      '{"settings":{"a":[1,{"b":-1e400}]}}',
      "",
      "must not have a number that is too large, such as 1e400",
    ],
    ["names a prototype", '{"prompts":{"__proto__":{"messages":[]}}}', "prompts.__proto__", "is not allowed as a name"],
    [
      "nests without end",
      `{"tools":{"add":{"config":${"[".repeat(50_000)}${"]".repeat(50_000)}}}}`,
      "tools.add",
      "nests deeper",
    ],
  ])("that %s is refused with the member's name, and changes nothing", async (_what, body, field, rule) => {
    const id = await newTenant();
    const refused = await put(id, body);
    expect(rules(refused)).toEqual([422, [expect.stringContaining(field), expect.stringContaining(rule)]]);
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject({ revision: 1 });
  });

  it("may have texts that look like members", async () => {
    const id = await newTenant();
    const description = '{"title":1,"title":2} \\" \\\\ [[[';
    expect((await put(id, JSON.stringify({ title: "title", description }))).status).toBe(200);
    expect((await ask("GET", `/tenants/${id}/document`)).body).toEqual({ title: "title", description });
  });

  it.each<[string, BodyInit, Readonly<Record<string, string>>, number]>([
    ["no JSON", "{", JSON_TYPE, 400],
    ["nothing", "", JSON_TYPE, 400],
    ["no UTF-8", Uint8Array.of(0x22, 0xff, 0x22), JSON_TYPE, 400],
    ["of another type", "{}", { "content-type": "text/plain" }, 415],
    ["of no type", "{}", { "content-type": "" }, 415],
    ["of many empty lists", `{"settings":{"lists":[${"[],".repeat(100_000)}0]}}`, JSON_TYPE, 413],
    ["too large", `"${"x".repeat(2 * 1024 * 1024)}"`, JSON_TYPE, 413],
  ])("that is %s is refused", async (_what, body, headers, status) => {
    const id = await newTenant();
    expect((await put(id, body, headers)).status).toBe(status);
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject({ revision: 1 });
  });

  it("is not read beyond its limit if it has no length", async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += 1;
        controller.enqueue(new Uint8Array(64 * 1024).fill(0x20));
      },
    });
    expect((await put(await newTenant(), endless)).status).toBe(413);
    expect(sent).toBeLessThan(50);
  });
});

describe("a path", () => {
  it("that does not exist is 404, and under another method 405", async () => {
    const at = (method: string, path: string) =>
      appOf().fetch(
        new Request(`${ORIGIN}/admin${path}`, { method, headers: { authorization: `Bearer ${ROOT}` } }),
        adminEnv,
      );
    expect((await at("GET", "/v1/nothing")).status).toBe(404);
    expect((await at("GET", "/")).status).toBe(404);
    const wrong = await at("PATCH", "/v1/tenants/acme");
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, DELETE"]);
    expect((await at("GET", "/v1/tenants/")).status).toBe(200);
  });

  it("says nothing of itself to one without a token", async () => {
    for (const path of ["/nothing", "/tenants/demo", "/tenants/nobody"]) {
      expect((await send("GET", path, { token: null })).status).toBe(401);
    }
  });

  it.each(["UPPER", "a%20b", "a%2Fb", "-"])("with the tenant %s names the rule", async (id) => {
    const [status, broken] = rules(await ask("GET", `/tenants/${id}`));
    expect([status, broken]).toEqual([
      422,
      ["id", "1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit"],
    ]);
  });
});

describe("a failure inside", () => {
  const messages: unknown[] = [];
  const app = appOf({ ...adminOptions, onError: (error) => messages.push(error) });
  const failing = (error: Error) => ({
    ...adminEnv,
    DirectoryObject: {
      getByName: () => {
        throw error;
      },
    },
  });
  const request = () =>
    new Request(`${ORIGIN}/admin/v1/tenants/acme`, { headers: { authorization: `Bearer ${ROOT}`, "cf-ray": "ray-1" } });

  it("shows the caller only an id, by which the Worker's author finds it", async () => {
    const secret = new Error("the password is swordfish");
    const answer = await app.fetch(request(), failing(secret));
    const text = await answer.text();
    expect([answer.status, answer.headers.get("content-type")]).toEqual([500, "application/problem+json"]);
    expect(JSON.parse(text)).toEqual({
      type: "urn:tenantry:problem:internal",
      title: "Internal error",
      status: 500,
      requestId: "ray-1",
    });
    expect(messages).toEqual([secret]);
  });

  it("of an overload has a Retry-After", async () => {
    const overloaded = Object.assign(new Error("overloaded"), { overloaded: true });
    const answer = await app.fetch(request(), failing(overloaded));
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(messages).not.toContain(overloaded);
  });
});
