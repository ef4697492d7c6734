import { describe, expect, test } from "vitest";
import {
  hasCapability,
  isLogLevel,
  LOG_LEVELS,
  progressTokenOf,
  isAtLeast,
  requiredCapabilities,
  type ClientCapability,
} from "../../src/protocol/meta.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";

const CAPABILITIES: readonly ClientCapability[] = [
  "elicitation",
  "elicitation.url",
  "sampling",
  "sampling.tools",
  "roots",
];

describe("capabilities", () => {
  test.each<[JsonObject, readonly ClientCapability[]]>([
    [{}, []],
    [{ elicitation: {} }, ["elicitation"]],
    [{ elicitation: { form: {} } }, ["elicitation"]],
    [{ elicitation: { url: {} } }, ["elicitation.url"]],
    [{ elicitation: { form: {}, url: {} } }, ["elicitation", "elicitation.url"]],
    [{ sampling: {} }, ["sampling"]],
    [{ sampling: { tools: {} } }, ["sampling", "sampling.tools"]],
    [{ sampling: { context: {} } }, ["sampling"]],
    [{ roots: { listChanged: true } }, ["roots"]],
    [{ sampling: true, elicitation: "yes", roots: null }, []],
    [{ sampling: [] }, []],
    [{ extensions: { "io.example/x": {} } }, []],
  ])("%j declares %j", (declared, expected) => {
    expect(CAPABILITIES.filter((capability) => hasCapability(declared, capability))).toEqual(expected);
  });

  test.each(CAPABILITIES)("what is shown as required for %s declares it", (capability) => {
    expect(hasCapability(requiredCapabilities(capability), capability)).toBe(true);
  });

  test("a required sub-capability is nested in its capability", () => {
    expect(requiredCapabilities("sampling")).toEqual({ sampling: {} });
    expect(requiredCapabilities("elicitation.form")).toEqual({ elicitation: { form: {} } });
    expect(requiredCapabilities("elicitation.url")).toEqual({ elicitation: { url: {} } });
  });
});

describe("log levels", () => {
  test("are those of RFC 5424 from debug to emergency", () => {
    expect(LOG_LEVELS.every(isLogLevel)).toBe(true);
    expect(["trace", "DEBUG", "", 3, null, undefined].some(isLogLevel)).toBe(false);
  });

  test("a level reaches itself and every lower minimum", () => {
    for (const [at, level] of LOG_LEVELS.entries()) {
      expect(LOG_LEVELS.filter((minimum) => isAtLeast(level, minimum))).toEqual(LOG_LEVELS.slice(0, at + 1));
    }
  });
});

describe("the progress token", () => {
  test.each<[JsonObject | undefined, unknown]>([
    [{ _meta: { progressToken: "a" } }, "a"],
    [{ _meta: { progressToken: "" } }, ""],
    [{ _meta: { progressToken: 0 } }, 0],
    [{ _meta: { progressToken: 1.5 } }, undefined],
    [{ _meta: { progressToken: null } }, undefined],
    [{ _meta: { progressToken: {} } }, undefined],
    [{ _meta: {} }, undefined],
    [{ _meta: [] }, undefined],
    [{ progressToken: "a" }, undefined],
    [{}, undefined],
    [undefined, undefined],
  ])("of %j is %j", (params, token) => {
    expect(progressTokenOf(params)).toBe(token);
  });
});
