// Owns one call on its way to an upstream and back: what is in its way, how often it is sent, and what is told of a call
// that was not answered. Refuses to send again what may have run.

import type { CallHost } from "../calls/call-host.ts";
import { bindingOf, openUpstreamState, readResponses } from "../calls/request-state.ts";
import { McpFault } from "../mcp-client/fault.ts";
import type { Call } from "../protocol/call.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import type { CallOutcome } from "../protocol/outcome.ts";
import { Deadline } from "./call-deadline.ts";
import { TokenRefusal, type TokenHow } from "./guard/access-token.ts";
import { AnswerRoom } from "./guard/answer-room.ts";
import { CALLS } from "./guard/crowd.ts";
import { CallGate } from "./guard/call-gate.ts";
import { Redaction } from "./guard/redaction.ts";
import { UnboundService } from "./guard/service-binding.ts";
import { tokenFetch } from "./outbound-fetch.ts";
import { busyFailure, failureOfFault } from "./translate-error.ts";
import { lackingSecret } from "./unread-reason.ts";
import { headersOf, withToken, type TokenedHeaders } from "./upstream-config.ts";
import { timeoutOf } from "./upstream-rules.ts";
import {
  groundOf,
  SentCall,
  type CalledUpstream,
  type CallWork,
  type Forwarded,
  type SentBefore,
} from "./sent-call.ts";

export async function forwardCall(
  upstream: CalledUpstream,
  forwarded: Forwarded,
  call: Call,
  host: CallHost,
): Promise<CallOutcome> {
  const sent = await continuedWith(upstream, forwarded, call, host);
  if (isFailure(sent)) return sent;
  const leave = CALLS.enter(host.tenant);
  if (!leave) return busyFailure();
  const deadline = new Deadline(timeoutOf(upstream.upstream), call.sink.cancelled);
  const room = new AnswerRoom(host.tenant);
  try {
    return await attempt(upstream, { forwarded: sent, call, host, deadline, room }, { isTokenNew: false, retries: 0 });
  } finally {
    deadline.end();
    room.release();
    leave();
  }
}

/** With the state as the upstream wrote it, where the client answers its questions. Elsewhere these members mean nothing. */
async function continuedWith(
  { way, config }: CalledUpstream,
  forwarded: Forwarded,
  call: Call,
  host: CallHost,
): Promise<Forwarded | Failure> {
  if (!("requestState" in forwarded.params || "inputResponses" in forwarded.params)) return forwarded;
  const { requestState, inputResponses: _, ...params } = forwarded.params;
  if (call.dialect.era !== "2026" || way !== "2026") return { ...forwarded, params };
  const responses = readResponses(forwarded.params);
  if (isFailure(responses)) return responses;
  const answered = { ...forwarded, params: { ...params, inputResponses: responses.value } };
  if (requestState === undefined) return answered;
  const opened = await openUpstreamState({ ...bindingOf(host), upstream: config }, call, requestState);
  return isFailure(opened) ? opened : { ...answered, params: { ...answered.params, requestState: opened.state } };
}

async function attempt(upstream: CalledUpstream, work: CallWork, sent: SentBefore): Promise<CallOutcome> {
  const { host, deadline } = work;
  const { tenant } = host;
  const { id, config } = upstream;
  const named = await headersOf(upstream.upstream, {
    tenant,
    env: host.env,
    secret: (name) => host.secret(name),
    client: (name) => host.clientHeader(name),
  });
  if ("lacks" in named) {
    return failure("faultyServer", `${id}: ${lackingSecret(named.lacks).why}`, { server: id, fault: "secret" });
  }
  const timeoutMs = timeoutOf(upstream.upstream);
  const gate = new CallGate({
    tenant,
    id,
    config,
    timeoutMs,
    tell: (news) => host.tell?.(host, news),
  });
  const shut = gate.refusal(Date.now());
  if (shut) return shut;
  let filled: TokenedHeaders | undefined;
  let going: SentCall | undefined;
  try {
    filled = await deadline.during(withToken(named, tokenHow(host)));
    deadline.check();
    going = new SentCall(upstream, filled, { ...work, redaction: Redaction.of(filled.secrets) });
    const outcome = await going.run();
    if (outcome.kind !== "failure") gate.answered();
    return outcome;
  } catch (error) {
    if (!going || !(error instanceof McpFault)) return notSent(error, upstream, work);
    const retryAfter = gate.failed(error.fault, going.heard, Date.now());
    const again = await going.again(error.fault, sent);
    if (again) return attempt(upstream, work, again);
    return going.failed(error, retryAfter);
  }
}

/** Throws what is no fault of the upstream. */
function notSent(error: unknown, upstream: CalledUpstream, work: CallWork): Failure {
  const { id } = upstream;
  if (error instanceof TokenRefusal || error instanceof UnboundService) {
    const fault = error instanceof TokenRefusal ? "token" : "service";
    return failure("faultyServer", `${id}: ${error.message}`, { server: id, fault });
  }
  if (error instanceof McpFault) return failureOfFault(error.fault, groundOf(upstream, work));
  throw error;
}

function tokenHow(host: CallHost): TokenHow {
  return {
    fetch: tokenFetch(host),
    now: Date.now,
    waitUntil: (asking) => {
      host.waitUntil(asking);
    },
  };
}
