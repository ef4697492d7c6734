// The way to a session's object: tried again after an accident, not when the object has too much to do.

import { describe, expect, it } from "vitest";
import { openSessionSocket, sessionName } from "../../src/sessions/session-stub.ts";
import { withRetries } from "../../src/streams/with-retries.ts";
import { freshSession } from "../support/workerd/session.ts";

/** Fails so often, and then does not. */
function failing(times: number, error: unknown) {
  let tries = 0;
  const work = async () => {
    tries += 1;
    if (tries <= times) throw error;
    return "done";
  };
  return { work, tries: () => tries };
}

describe("a message that may be said twice", () => {
  it("is said again after an accident", async () => {
    const { work, tries } = failing(2, new Error("Network connection lost."));
    expect(await withRetries(work)).toBe("done");
    expect(tries()).toBe(3);
  });

  it("is said four times at most", async () => {
    const { work, tries } = failing(9, new Error("Network connection lost."));
    await expect(withRetries(work)).rejects.toThrow("Network connection lost.");
    expect(tries()).toBe(4);
  });

  it("is said once to an object that has too much to do", async () => {
    const { work, tries } = failing(9, Object.assign(new Error("overloaded"), { overloaded: true }));
    await expect(withRetries(work)).rejects.toThrow("overloaded");
    expect(tries()).toBe(1);
  });

  it("is said again when something other than an error was thrown", async () => {
    expect(await withRetries(failing(1, "a text").work)).toBe("done");
  });
});

describe("a session's object", () => {
  it("has a name that no session of another tenant has", () => {
    expect(sessionName("acme", "nonce")).not.toBe(sessionName("globex", "nonce"));
  });

  it("gives a socket to a runner, and refuses a viewer what it does not know", async () => {
    const session = freshSession();
    expect(await openSessionSocket(session, { as: "runner", request: '"é&=#"', call: "a" })).toHaveProperty("socket");
    expect(await openSessionSocket(session, { as: "viewer", call: "a" }, 3)).toEqual({ refused: 404 });
  });
});
