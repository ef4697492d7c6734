import { afterEach, describe, expect, it, vi } from "vitest";
import { getAccessToken, forgetAccessToken, type ClientGrant } from "../../../src/gateway/guard/access-token.ts";

afterEach(() => {
  vi.useRealTimers();
});

type Answer = () => Response | Promise<Response>;

/** A client of its own, at a token endpoint that gives `token-1`, `token-2` unless it is told otherwise. */
function setup() {
  const clock = { now: 1_000_000 };
  const given = { count: 0, requestCount: 0 };
  const give: Answer = () => {
    given.count += 1;
    return Response.json({ access_token: `token-${given.count}`, token_type: "bearer", expires_in: 3600 });
  };
  const server: { answer: Answer } = { answer: give };
  const grant: ClientGrant = {
    tenant: crypto.randomUUID(),
    tokenUrl: "https://tokens.example.com/token",
    clientId: "tenantry",
    clientSecret: "s3cret",
    method: "client_secret_basic",
  };
  const fetch = async () => {
    given.requestCount += 1;
    return server.answer();
  };
  const ask = async () => getAccessToken(grant, { fetch, now: () => clock.now, waitUntil: () => {} });
  return { clock, given, server, give, grant, ask };
}

const away: Answer = () => {
  throw new TypeError("Network connection lost.");
};

describe("an access token", () => {
  it("is used until it expires if no other can be had, while another is requested", async () => {
    const { clock, given, server, give, ask } = setup();
    expect(await ask()).toBe("token-1");
    server.answer = away;
    clock.now += 3_575_000;
    expect(await ask()).toBe("token-1");
    expect(await ask()).toBe("token-1");
    expect(given.requestCount).toBe(2);
    clock.now += 5_000;
    expect(await ask()).toBe("token-1");
    expect(given.requestCount).toBe(3);
    clock.now += 15_000;
    await expect(ask()).rejects.toThrow("cannot be reached");
    server.answer = give;
    clock.now += 5_000;
    expect(await ask()).toBe("token-2");
  });

  it("is not used any more once its upstream has refused it, though no other can be had", async () => {
    const { server, grant, ask } = setup();
    const token = await ask();
    forgetAccessToken(grant, token);
    server.answer = away;
    await expect(ask()).rejects.toThrow("cannot be reached");
  });

  it("is requested by one other caller when the first caller is dropped", async () => {
    const { clock, given, server, give, ask } = setup();
    server.answer = () => new Promise(() => {});
    void ask();
    await expect.poll(() => given.requestCount).toBe(1);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const waiting = [ask(), ask(), ask()];
    server.answer = give;
    clock.now += 5_000;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await Promise.all(waiting)).toEqual(["token-1", "token-1", "token-1"]);
    expect(given.requestCount).toBe(2);
  });

  it("stays when an earlier request for one is refused late", async () => {
    const { clock, given, server, give, ask } = setup();
    const { promise, reject } = Promise.withResolvers<Response>();
    server.answer = () => promise;
    const first = ask();
    await expect.poll(() => given.requestCount).toBe(1);
    server.answer = give;
    clock.now += 6_000;
    expect(await ask()).toBe("token-1");
    reject(new TypeError("Network connection lost."));
    expect(await first).toBe("token-1");
    expect(await ask()).toBe("token-1");
  });
});
