// Bounded concurrency: an invocation has six connections, and objects answer quickly.

const CONCURRENCY = 8;

/** Results in the order of the items. `mapper` must not throw. */
export async function mapConcurrent<T, R>(items: readonly T[], mapper: (item: T) => Promise<R>): Promise<R[]> {
  const results = Array.from<R>({ length: items.length });
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) results[index] = await mapper(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, worker));
  return results;
}
