import { expect, it } from "vitest";
import { SourceSubscriptions } from "../../src/catalog/source-subscriptions.ts";
import type { RequestScope } from "../../src/handlers/request-scope.ts";
import type { Source } from "../../src/protocol/source.ts";

const HOST = {} as RequestScope;
const WANTED = { tools: true, prompts: false, resources: false, uris: [] };

function listening() {
  const open = new Set<object>();
  const source: Source<RequestScope> = {
    id: "s",
    state: { kind: "fresh" },
    tools: [],
    prompts: [],
    resources: [],
    templates: [],
    interest: (wanted) => {
      const mine = { wanted };
      open.add(mine);
      return () => open.delete(mine);
    },
  };
  return { open, source };
}

it("an interest begins with what a stream wants, follows what it wants next, and ends with it", () => {
  const { open, source } = listening();
  const interests = new SourceSubscriptions();
  interests.setSources([source], HOST);
  expect(open.size).toBe(0);
  interests.setFilter(WANTED);
  interests.setFilter({ ...WANTED, uris: ["a:b"] });
  expect([...open]).toEqual([{ wanted: { ...WANTED, uris: ["a:b"] } }]);
  interests.end();
  expect(open.size).toBe(0);
});

it("an interest subscribes nothing after its end, even if the stream's filter arrives late", () => {
  const { open, source } = listening();
  const interests = new SourceSubscriptions();
  interests.setSources([source], HOST);
  interests.end();
  interests.setFilter(WANTED);
  interests.setSources([{ ...source }], HOST);
  expect(open.size).toBe(0);
});
