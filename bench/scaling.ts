// Whether a request costs the same in a tenant that stores much as in one that stores little: fills tenants of both kinds
// in one workerd and measures them in turn.
import { Agent } from "node:http";
import { COMMON_WORD, ENDED_TENANT, oneOf, readNumber, textOf, TOPIC_TEXTS, topicOf, uriOf } from "./corpus.ts";
import type { Endings, Part } from "./corpus.ts";
import { compare, exchange } from "./measure.ts";
import type { Comparison, Load, Pace } from "./measure.ts";
import type { Running } from "./runtime.ts";
import { complete, expecting, loadInSession, request2026 } from "./scenarios.ts";
import type { Send } from "./scenarios.ts";

/** Ten resources, and one full page of resources/list. */
const TEN = 10;
const PAGE = 100;
const EACH_OF_MANY = 1000;
/** "The same", on a machine that is never quite still. */
const BUDGET = 1.3;
/** A call that asks nobody: nothing of what is stored may be seen in it. */
const CALL_BUDGET = 1.15;
const FILLED_AT_ONCE = 500;
const ENDED_AT_ONCE = 5000;
const FILLING_LANES = 2;

export interface Scale {
  /** Tenants with 1,000 resources each. */
  many: number;
  /** Resources of the one large tenant. */
  large: number;
  /** Sessions that were ended in a tenant that stores nothing else. */
  ended: number;
}

export const FULL_SCALE: Scale = { many: 100, large: 100_000, ended: 100_000 };
export const QUICK_SCALE: Scale = { many: 10, large: 10_000, ended: 2000 };

/** Some tenants of one size, which a load takes in turn. */
interface Group {
  size: number;
  tenant: (n: number) => string;
}

type Operation = (group: Group, send: Send) => Load | Promise<Load>;

export interface ScalingCase {
  name: string;
  budget?: number;
  subject: Group;
  against: Group;
  operation: Operation;
}

const listFirstPage: Operation = ({ size, tenant }) => {
  const wanted = Math.min(size, PAGE);
  return (n) => ({
    ...request2026(n, "resources/list", {}, { path: `/mcp/${tenant(n)}` }),
    fault: expecting(
      n,
      complete(({ resources = [], nextCursor }) => {
        if (resources.length !== wanted) return `expected ${wanted} resources, got ${resources.length}`;
        return (nextCursor === undefined) === size <= PAGE ? undefined : "expected a cursor only if there is more";
      }),
    ),
  });
};

const readOne: Operation = ({ size, tenant }) => {
  return (n) => {
    const number = readNumber(n, size);
    return {
      ...request2026(n, "resources/read", { uri: uriOf(number) }, { path: `/mcp/${tenant(n)}` }),
      fault: expecting(
        n,
        complete(({ contents }) => (contents?.[0]?.text === textOf(number) ? undefined : `expected text ${number}`)),
      ),
    };
  };
};

const searchFor =
  (queryOf: (number: number) => string): Operation =>
  ({ size, tenant }) =>
  (n) => {
    const params = { name: "search", arguments: { query: queryOf((n * 7919) % size) } };
    return {
      ...request2026(n, "tools/call", params, { path: `/mcp/${tenant(n)}` }),
      fault: expecting(
        n,
        complete(({ structuredContent }) => {
          const found = structuredContent?.results?.length;
          return found === TOPIC_TEXTS ? undefined : `expected ${TOPIC_TEXTS} results, got ${found}`;
        }),
      ),
    };
  };

const callInSession: Operation = ({ tenant }, send) => loadInSession(send, "2025-11-25", `/mcp/${tenant(0)}`);

export function scalingCases({ many, large, ended }: Scale): ScalingCase[] {
  const ten: Group = { size: TEN, tenant: () => "ten" };
  const page: Group = { size: PAGE, tenant: () => "page" };
  const subjects: [string, Group][] = [
    [`${many} × ${EACH_OF_MANY}`, { size: EACH_OF_MANY, tenant: (n) => oneOf(n % many) }],
    [`1 × ${large}`, { size: large, tenant: () => "large" }],
  ];
  const afterEndings: ScalingCase = {
    name: `2025 call after ${ended} deleted sessions`,
    budget: CALL_BUDGET,
    subject: { size: 0, tenant: () => ENDED_TENANT },
    against: ten,
    operation: callInSession,
  };
  const stored = subjects.flatMap(([what, subject]): ScalingCase[] => [
    // The longer answer is part of this one, so it has no budget; the next has answers of one length.
    { name: `${what}: first page of 100, against 10`, subject, against: ten, operation: listFirstPage },
    { name: `${what}: first page`, budget: BUDGET, subject, against: page, operation: listFirstPage },
    { name: `${what}: read`, budget: BUDGET, subject, against: ten, operation: readOne },
    { name: `${what}: search`, budget: BUDGET, subject, against: ten, operation: searchFor(topicOf) },
    // Ranking looks at every text that has the word: it grows with them, here as in any index.
    { name: `${what}: search for a word of all texts`, subject, against: ten, operation: searchFor(() => COMMON_WORD) },
  ]);
  return [...stored, afterEndings];
}

/** Fills what the cases need; answers how many resources that is. */
export async function fillTenants({ url }: Running, { many, large, ended }: Scale): Promise<number> {
  const parts: Part[] = [
    ...partsOf("ten", TEN),
    ...partsOf("page", PAGE),
    ...partsOf("large", large),
    ...Array.from({ length: many }, (_, at) => partsOf(oneOf(at), EACH_OF_MANY)).flat(),
  ];
  const endings = Array.from({ length: Math.ceil(ended / ENDED_AT_ONCE) }, (_, at): Endings => {
    return { tenant: ENDED_TENANT, count: Math.min(ENDED_AT_ONCE, ended - at * ENDED_AT_ONCE) };
  });
  const agent = new Agent({ keepAlive: true });
  const waiting = [...parts, ...endings].values();
  const lane = async (): Promise<void> => {
    for (const part of waiting) {
      const path = "count" in part ? "/end" : "/fill";
      const sent = { path, headers: { "content-type": "application/json" }, body: JSON.stringify(part) };
      const { status, body } = await exchange(agent, url, sent);
      if (status !== 200) throw new Error(`filling ${part.tenant} was answered ${status}: ${body.slice(0, 600)}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: FILLING_LANES }, lane));
  } finally {
    agent.destroy();
  }
  return TEN + PAGE + large + many * EACH_OF_MANY;
}

function partsOf(tenant: string, size: number): Part[] {
  return Array.from({ length: Math.ceil(size / FILLED_AT_ONCE) }, (_, at) => {
    return { tenant, size, from: at * FILLED_AT_ONCE, to: Math.min((at + 1) * FILLED_AT_ONCE, size) };
  });
}

/** Both sides are the same process, so its heap and caches hold for both. */
export async function measureScaling(running: Running, one: ScalingCase, pace: Pace): Promise<Comparison> {
  const { subject, against, operation } = one;
  const agent = new Agent({ keepAlive: true });
  try {
    const send: Send = (wanted) => exchange(agent, running.url, wanted);
    const sideOf = async (group: Group) => ({ ...running, load: await operation(group, send) });
    return await compare(await sideOf(subject), await sideOf(against), pace);
  } finally {
    agent.destroy();
  }
}
