import { describe, expect, test } from "vitest";
import { assertKnownKeys } from "../../src/protocol/members.ts";

const errorOf = (members: object, mayBeOthers = false): string => {
  try {
    assertKnownKeys("tool", members, "name handler input readOnlyHint", mayBeOthers);
    return "none";
  } catch (error) {
    return (error as Error).message;
  }
};
const UNKNOWN = "expected name, handler, input, readOnlyHint";

describe("an unknown field", () => {
  test.each([
    ["handlr", "handler"],
    ["readOnly", "readOnlyHint"],
    ["inputSchema", "input"],
  ])("%s is refused with the field that is meant", (field, meant) => {
    expect(errorOf({ name: "a", [field]: 1 })).toBe(
      `tool: unknown field ${field}, ${UNKNOWN}; did you mean "${meant}"?`,
    );
  });

  test("that is near none is refused without a proposal", () => {
    expect(errorOf({ zebra: 1 })).toBe(`tool: unknown field zebra, ${UNKNOWN}`);
  });

  test("may stand among others if it is near none", () => {
    expect(errorOf({ zebra: 1 }, true)).toBe("none");
    expect(errorOf({ inputSchema: 1 }, true)).toBe("none");
    expect(errorOf({ handlr: 1 }, true)).toContain('did you mean "handler"?');
  });
});
