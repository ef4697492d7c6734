// Owns how long an object or KV is waited for. The platform may take a call and answer it never, or half a minute later,
// when whoever asked has gone. Refuses to take the call back: it may have been done, or be done yet.

import { AppError } from "../../protocol/app-error.ts";

const TIMEOUT_MS = 5000;
const RETRY_AFTER_S = 2;

/** Rejects when there is no answer by then; `who` did not give it. */
export async function withTimeout<T>(work: Promise<T>, milliseconds = TIMEOUT_MS, callee = "it"): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${callee} gave no answer within ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer ?? null);
  }
}

/** The same for what may be asked for again: whatever fails there is `busy`, which says so. */
export async function withTimeoutOrBusy<T>(work: Promise<T>, milliseconds?: number): Promise<T> {
  try {
    return await withTimeout(work, milliseconds);
  } catch (error) {
    throw error instanceof AppError ? error : new AppError("busy", { retryAfter: RETRY_AFTER_S, cause: error });
  }
}
