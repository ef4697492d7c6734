// What the classes of a script find of what its author wrote: the Workers that were made while modules were evaluated.

import { beforeEach, expect, it } from "vitest";
import { hasFeature, requireFeature, registerWorker, getWorker } from "../../src/deployment/registry.ts";
import type { Deployment } from "../../src/deployment/deployment.ts";

const workers = (globalThis as unknown as Record<symbol, Map<string, unknown>>)[Symbol.for("tenantry.workers")];
beforeEach(() => workers?.clear());

const made = (path: string, ...features: string[]) =>
  ({ path, features: features.map((name) => ({ name })) }) as unknown as Deployment;

it("the registry finds the Worker of a path, and of two the one that was made last", () => {
  const [one, two] = [made("/one"), made("/two")];
  for (const worker of [one, made(""), two, made("")]) registerWorker(worker);
  const edited = made("/one");
  registerWorker(edited);
  expect([getWorker("/one"), getWorker("/two"), getWorker("/three")]).toEqual([edited, two, undefined]);
});

it("the registry finds the first Worker with a feature, whichever was made last", () => {
  const [one, two] = [made("/one"), made("/two", "gateway")];
  for (const worker of [one, two, made("/three", "gateway")]) registerWorker(worker);
  expect(requireFeature("gateway")).toEqual({ deployment: two, feature: { name: "gateway" } });
  expect([hasFeature("gateway"), hasFeature("login")]).toEqual([true, false]);
});

it("the registry says what to do where no Worker was made", () => {
  const says = "was created: call createWorker() at the top level of the file that main names, not in a handler";
  expect(() => getWorker("")).toThrow(`no Worker ${says}`);
  expect(() => requireFeature("webhooks")).toThrow(`no Worker with webhooks() ${says}`);
});
