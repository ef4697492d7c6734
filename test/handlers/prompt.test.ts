import { expect, it } from "vitest";
import { definePrompt } from "../../src/handlers/prompt.ts";

const handler = () => "text";

it.each(["", "x".repeat(129)])("a prompt is refused with the name %j", (name) => {
  expect(() => definePrompt({ name, handler })).toThrow(`prompt "${name}": a name must have 1 to 128 characters`);
});

it("a prompt takes a name of any characters", () => {
  expect(definePrompt({ name: "Äh, ja? 🙂", handler }).wire.name).toBe("Äh, ja? 🙂");
  expect(definePrompt({ name: "x".repeat(128), handler }).wire.name).toHaveLength(128);
});

it("a prompt lists its arguments in order, without their completers", () => {
  const { wire } = definePrompt({
    name: "greet",
    title: "Greet",
    arguments: {
      who: { title: "Who", description: "Whom to greet", required: true, complete: () => ["Ada"] },
      how: {},
    },
    handler,
  });
  expect(wire).toEqual({
    name: "greet",
    title: "Greet",
    description: "Greet",
    arguments: [
      { name: "who", title: "Who", description: "Whom to greet", required: true },
      { name: "how", required: false },
    ],
  });
});
