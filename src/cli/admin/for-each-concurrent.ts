// Bounded concurrency for uploads and downloads.

/** After the first failure, starts nothing new, waits for the running items, and then throws that failure. */
export async function forEachConcurrent<T>(
  items: Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  let failed = false;
  const worker = async () => {
    for (let next = queue.next(); !failed && next.done !== true; next = queue.next()) {
      try {
        await work(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  const failure = results.find((result) => result.status === "rejected");
  if (failure) throw failure.reason;
}
