// Waiting a bounded number of microtasks for what is probably ready.
import { expect, test } from "vitest";
import { soon } from "../../src/protocol/soon.ts";

test("it returns as soon as the thing is ready", async () => {
  let asked = 0;
  await soon(() => {
    asked += 1;
    return asked === 3;
  }, 10);
  expect(asked).toBe(3);
});

test("it gives up after its turns, so that a thing that never comes costs a bounded wait", async () => {
  let asked = 0;
  await soon(() => {
    asked += 1;
    return false;
  }, 5);
  expect(asked).toBe(5);
});

test("it sees what a promise settles within its turns", async () => {
  let ready = false;
  void Promise.resolve()
    .then(() => undefined)
    .then(() => {
      ready = true;
    });
  await soon(() => ready, 4);
  expect(ready).toBe(true);
});
