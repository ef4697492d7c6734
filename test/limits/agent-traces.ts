// Ten minutes of what busy agents send, made from what real ones do: turns of a model, a burst of parallel calls in
// each, lists when a session begins and now and then after, polling while something long runs.

export interface TracedMessage {
  /** Milliseconds since the trace began. */
  readonly at: number;
  readonly tool: string | undefined;
}

const TEN_MINUTES_MS = 600_000;
/** Of which an agent mostly uses a few: reading and searching take most of its calls. */
const TOOLS = ["search", "read", "read", "read", "list", "write", "status"] as const;

/** How one agent works. */
export interface AgentHabits {
  /** The least and the most of each. */
  readonly thinkMs: readonly [number, number];
  readonly parallel: readonly [number, number];
  /** Whether all calls of a burst go to one tool, as when many files are read. */
  readonly oneTool: boolean;
  readonly pollMs: number | undefined;
}

export const BUSIEST: AgentHabits = { thinkMs: [1500, 4000], parallel: [5, 10], oneTool: true, pollMs: 1000 };
export const USUAL: AgentHabits = { thinkMs: [3000, 20_000], parallel: [1, 6], oneTool: false, pollMs: 2000 };

/** `chance`: numbers from 0 to 1, so that a trace can be made again. */
export function agentTrace(habits: AgentHabits, chance: () => number, startsAt = 0): TracedMessage[] {
  const between = ([least, most]: readonly [number, number]) => least + chance() * (most - least);
  const tool = () => TOOLS[Math.floor(chance() * TOOLS.length)];
  const trace: TracedMessage[] = begin(startsAt);
  for (let at = startsAt + 500; at < TEN_MINUTES_MS; at += between(habits.thinkMs)) {
    const calls = Math.round(between(habits.parallel));
    const one = tool();
    for (let call = 0; call < calls; call += 1) {
      trace.push({ at: at + Math.floor(chance() * 30), tool: habits.oneTool ? one : tool() });
    }
    // A client that saw `list_changed`, or lost its session, begins again.
    if (chance() < 0.02) trace.push(...begin(at));
    else if (chance() < 0.05) trace.push({ at, tool: undefined });
  }
  for (let at = startsAt; habits.pollMs !== undefined && at < TEN_MINUTES_MS; at += habits.pollMs) {
    trace.push({ at, tool: "status" });
  }
  return trace;
}

/** initialize, initialized, the lists, the GET stream, a ping. */
function begin(at: number): TracedMessage[] {
  return Array.from({ length: 7 }, (_none, message) => ({ at: at + message * 20, tool: undefined }));
}

export function inOrder(...traces: readonly (readonly TracedMessage[])[]): readonly TracedMessage[] {
  return traces.flat().toSorted((a, b) => a.at - b.at);
}

/** Numbers from 0 to 1 that begin with `seed` (mulberry32). */
export function chanceFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
