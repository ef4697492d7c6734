// Limits how long an object or KV is waited for. The platform may answer a call never, or half a minute late. The call
// is not undone: it may have been executed, or still be.

import { AppError } from "../../protocol/app-error.ts";

const TIMEOUT_MS = 5000;
const RETRY_AFTER_S = 2;

/** Rejects after `milliseconds`. `callee` is named in the error; by default, an object or KV is waited for. */
export async function withTimeout<T>(work: Promise<T>, milliseconds = TIMEOUT_MS, callee = "storage"): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${callee} did not answer within ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer ?? null);
  }
}

/** Like `withTimeout`, for work that can be repeated: every failure becomes `busy`, which tells the client to retry. */
export async function withTimeoutOrBusy<T>(work: Promise<T>, milliseconds?: number): Promise<T> {
  try {
    return await withTimeout(work, milliseconds);
  } catch (error) {
    throw error instanceof AppError ? error : new AppError("busy", { retryAfter: RETRY_AFTER_S, cause: error });
  }
}
