// Measures the CPU time of workerd processes under load, subject and yardstick in turn. It checks every answer and
// asserts no timing.
import { readdirSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import type { IncomingHttpHeaders } from "node:http";

export const CONNECTIONS = 8;
const SLICE_MS = 100;

export interface Exchange {
  path: string;
  headers: Record<string, string>;
  body: string;
  /** Says what is wrong with the answer, or nothing. */
  fault: (answer: Answer) => string | undefined;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** The n-th request of a load; n makes ids and arguments differ. */
export type Load = (n: number) => Exchange;

export interface Side {
  url: URL;
  pid: number;
  load: Load;
}

export interface Pace {
  rounds: number;
  /** Time of one round for each of the two sides. */
  roundMs: number;
  /** Before the first scenario of a workerd: its heap stops growing only after its first full garbage collection. */
  warmupMs: number;
  /** Before each scenario: its code gets compiled. */
  settleMs: number;
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

export interface Comparison {
  subjectMicros: Spread;
  bareMicros: Spread;
  ratio: Spread;
  requests: number;
}

interface Spent {
  micros: number;
  requests: number;
}

/**
 * One round is long, so that full garbage collections (100 ms, once in about ten thousand requests) fall on every
 * round alike; within it the sides take turns every 100 ms, so that a slow spell falls on both.
 */
export async function compare(subject: Side, bare: Side, pace: Pace): Promise<Comparison> {
  const sides = { subject: connect(subject), bare: connect(bare) };
  const rounds: { subject: Spent; bare: Spent }[] = [];
  try {
    await turns(sides, pace.settleMs);
    for (let round = 0; round < pace.rounds; round += 1) rounds.push(await turns(sides, pace.roundMs));
  } finally {
    sides.subject.close();
    sides.bare.close();
  }
  return {
    subjectMicros: spread(rounds.map((round) => perRequest(round.subject))),
    bareMicros: spread(rounds.map((round) => perRequest(round.bare))),
    ratio: spread(rounds.map((round) => perRequest(round.subject) / perRequest(round.bare))),
    requests: rounds.reduce((sum, round) => sum + round.subject.requests + round.bare.requests, 0),
  };
}

export async function warmUp(side: Side, ms: number): Promise<void> {
  const connected = connect(side);
  try {
    await connected.drive(ms);
  } finally {
    connected.close();
  }
}

async function turns(
  sides: Record<"subject" | "bare", Connected>,
  ms: number,
): Promise<Record<"subject" | "bare", Spent>> {
  const spent = { subject: { micros: 0, requests: 0 }, bare: { micros: 0, requests: 0 } };
  for (let left = ms; left > 0; left -= SLICE_MS) {
    for (const which of ["subject", "bare"] as const) {
      const { micros, requests } = await sides[which].drive(SLICE_MS);
      spent[which].micros += micros;
      spent[which].requests += requests;
    }
  }
  return spent;
}

function perRequest({ micros, requests }: Spent): number {
  return micros / requests;
}

export async function exchange(agent: Agent, url: URL, wanted: Omit<Exchange, "fault">): Promise<Answer> {
  const headers = { ...wanted.headers, "content-length": Buffer.byteLength(wanted.body) };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(wanted.path, url), { agent, method: "POST", headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const body = Buffer.concat(chunks).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
    });
    sent.on("error", reject);
    sent.end(wanted.body);
  });
}

interface Connected {
  /** Keeps all connections busy for so long; answers what the workerd process spent on it. */
  drive: (ms: number) => Promise<Spent>;
  close: () => void;
}

function connect(side: Side): Connected {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let next = 0;
  const lane = async (deadline: number): Promise<void> => {
    while (performance.now() < deadline) {
      const wanted = side.load(next++);
      const answer = await exchange(agent, side.url, wanted);
      const fault = wanted.fault(answer);
      if (fault === undefined) continue;
      throw new Error(`${fault}\n  sent ${wanted.body}\n  got  ${answer.status} ${answer.body.slice(0, 600)}`);
    }
  };
  const drive = async (ms: number): Promise<Spent> => {
    const [first, before, deadline] = [next, cpuMicros(side.pid), performance.now() + ms];
    const lanes = await Promise.allSettled(Array.from({ length: CONNECTIONS }, () => lane(deadline)));
    for (const outcome of lanes) if (outcome.status === "rejected") throw outcome.reason;
    return { micros: cpuMicros(side.pid) - before, requests: next - first };
  };
  return { drive, close: () => agent.destroy() };
}

/**
 * CPU time of a process and its threads. The scheduler's own count has nanoseconds; where the kernel keeps none,
 * utime + stime have ticks of 10 ms, enough for slices of a second.
 */
export function cpuMicros(pid: number): number {
  return threadNanos(pid) / 1000 || processTicks(pid) * 10_000;
}

function threadNanos(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const nanos = threads.map((id) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]));
    return nanos.reduce((sum, value) => sum + value, 0);
  } catch {
    return 0; // no such file in this kernel
  }
}

function processTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name may hold blanks; utime is field 14
  return Number(fields[11]) + Number(fields[12]);
}

export function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  const middle = (sorted.length - 1) / 2;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    min: at(0),
    max: at(sorted.length - 1),
  };
}
