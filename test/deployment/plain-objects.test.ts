// `tenantry/objects`: the classes of a Worker without features, and why no other may export them. In a workerd of its own, because
// who imports the module has it for good.

import { expect, it } from "vitest";
import * as objects from "../../src/objects.ts";
import { admin, createWorker, gateway, links, login } from "../../src/tenantry.ts";

it("has every class that such a Worker exports", () => {
  expect(Object.keys(objects).toSorted()).toEqual(Object.keys(createWorker().exports).toSorted());
});

it.each([admin(), gateway(), login(), links()])("is refused where the Worker has $name()", (feature) => {
  const make = () => createWorker({ features: [feature] });
  expect(make).toThrow(
    `tenantry/objects does not know ${feature.name}(): export const { ... } = worker.exports in its place`,
  );
});
