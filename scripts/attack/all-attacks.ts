// Which attacks there are. Those that look at times and memory come last, each by itself.

import { badIntent } from "./bad-intent.ts";
import { brakes, roles } from "./brakes.ts";
import { crossTenant } from "./cross-tenant.ts";
import { growingState } from "./growing-state.ts";
import { headers } from "./headers.ts";
import { heavyWork } from "./heavy-work.ts";
import { hiddenThings } from "./hidden-things.ts";
import { hostileServer } from "./hostile-server.ts";
import { lateRights } from "./late-rights.ts";
import { localStart } from "./local-start.ts";
import { loginClients } from "./login-clients.ts";
import { memory } from "./memory.ts";
import { tokens } from "./login/tokens.ts";
import type { Attack } from "./report.ts";
import { recreated, takenAway } from "./taken-away.ts";
import { hostileAnswers } from "./upstreams/hostile-answers.ts";
import { pretence } from "./upstreams/pretence.ts";
import { envelopes } from "./upstreams/envelopes.ts";
import { upstreamMemory } from "./upstreams/upstream-memory.ts";
import { upstreamWayOut } from "./upstreams/upstream-way-out.ts";
import { unknownNames } from "./unknown-names.ts";
import { whatIsNoted } from "./call-records.ts";
import { wayOut } from "./way-out.ts";

export const ATTACKS: readonly Attack[] = [
  brakes,
  lateRights,
  hiddenThings,
  takenAway,
  roles,
  recreated,
  crossTenant,
  unknownNames,
  wayOut,
  upstreamWayOut,
  hostileAnswers,
  pretence,
  envelopes,
  tokens,
  headers,
  loginClients,
  localStart,
  hostileServer,
  whatIsNoted,
  growingState,
  heavyWork,
  memory,
  upstreamMemory,
  // Others' operators are refused for a minute after it.
  badIntent,
];
