// The check that resources and documents are registers: whatever several clients of both Workers write and read at
// once, with If-Match and without, one order of it fits.

import { unexpected, json, makeTenant, OPEN, type Check, type Played, type Scene } from "./check.ts";
import type { Draws } from "./draws.ts";
import { contradiction, type Operation, type Step } from "../../support/linearizable.ts";
import { isUnknown, type Answer } from "./unreliable-workers.ts";
import { sized } from "../../support/tier.ts";

const CLIENTS = 4;
const STEPS = sized({ usual: 6, long: 9 });
const URI = "lab://register";

/** How one kind of register is asked. */
interface Register {
  readonly name: string;
  read(at: number): Promise<Answer>;
  write(at: number, value: string, ifMatch?: string): Promise<Answer>;
  /** "" where nothing was written. */
  valueOf(answer: Answer): string;
}

function registersOf({ workers, tag }: Scene): readonly Register[] {
  const content = `/tenants/${tag}/resources/content?uri=${encodeURIComponent(URI)}`;
  const document = `/tenants/${tag}/document`;
  const matching = (ifMatch: string | undefined) => (ifMatch === undefined ? {} : { ifMatch });
  return [
    {
      name: "resource",
      read: (at) => workers.ask(at, "GET", content),
      write: (at, value, ifMatch) => workers.ask(at, "PUT", content, { plain: value, ...matching(ifMatch) }),
      valueOf: ({ status, text }) => (status === 404 ? "" : text),
    },
    {
      name: "document",
      read: (at) => workers.ask(at, "GET", document),
      write: (at, title, ifMatch) =>
        workers.ask(at, "PUT", document, { body: { ...OPEN, title }, ...matching(ifMatch) }),
      valueOf: (answer) => (json(answer)["title"] as string | undefined) ?? "",
    },
  ];
}

interface Client {
  readonly scene: Scene;
  readonly register: Register;
  readonly draws: Draws;
  readonly at: number;
  readonly history: Operation[];
  readonly violations: string[];
}

interface Known {
  readonly value: string;
  readonly etag: string;
}

async function act(client: Client): Promise<void> {
  const { register, draws, at } = client;
  let known: Known | undefined;
  for (let step = 0; step < STEPS; step += 1) {
    if (draws.chance(0.45)) known = (await read(client)) ?? known;
    else await write(client, `${register.name} ${at}.${step}`, draws.chance(0.5) ? known : undefined);
  }
}

/** What it learnt for an If-Match. */
async function read({ scene: { workers }, register, draws, history, violations }: Client): Promise<Known | undefined> {
  const begun = workers.tick();
  const answer = await register.read(draws.below(2));
  violations.push(...unexpected(`GET of a ${register.name}`, answer, [200, 404]));
  if (isUnknown(answer)) return undefined;
  const value = register.valueOf(answer);
  history.push({ kind: "read", value, begun, ended: workers.tick() });
  return answer.etag === null ? undefined : { value, etag: answer.etag };
}

async function write(client: Client, value: string, from: Known | undefined): Promise<void> {
  const { scene, register, draws, history, violations } = client;
  const begun = scene.workers.tick();
  const answer = await register.write(draws.below(2), value, from?.etag);
  const ended = isUnknown(answer) ? Infinity : scene.workers.tick();
  violations.push(...unexpected(`PUT of a ${register.name}`, answer, from ? [200, 201, 412] : [200, 201]));
  const step: Step =
    from && answer.status === 412
      ? { kind: "refused", from: from.value }
      : { kind: "write", value, ...(from ? { from: from.value } : {}) };
  history.push({ ...step, begun, ended });
}

async function play(scene: Scene): Promise<Played> {
  const { draws, tag, workers } = scene;
  await makeTenant(scene, tag);
  const violations: string[] = [];
  let operations = 0;
  const registers = registersOf(scene).map((register) => ({ register, history: [] as Operation[] }));
  await scene.stormy(() =>
    Promise.all(
      registers.flatMap(({ register, history }) =>
        Array.from({ length: CLIENTS }, (_none, at) =>
          act({ scene, register, draws: draws.fork(), at, history, violations }),
        ),
      ),
    ),
  );
  for (const { register, history } of registers) {
    const begun = workers.tick();
    const last = register.valueOf(await workers.insist("GET", pathOf(register, tag)));
    history.push({ kind: "read", value: last, begun, ended: workers.tick() });
    operations += history.length;
    const wrong = contradiction("", history);
    if (wrong !== undefined) violations.push(`${register.name}: ${wrong}`);
  }
  return { operations, violations };
}

function pathOf({ name }: Register, tag: string): string {
  return name === "document"
    ? `/tenants/${tag}/document`
    : `/tenants/${tag}/resources/content?uri=${encodeURIComponent(URI)}`;
}

export const registers: Check = {
  name: "registers",
  claim: "resources and documents are linearizable, with If-Match and without",
  play,
};
