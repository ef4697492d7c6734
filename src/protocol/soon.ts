// Owns waiting a few microtasks for what is probably ready already, so that the common case pays for no timer and no
// race. Refuses to say whether it became ready: the caller looks again.

/** `turns`: how many microtasks to wait at most. */
export async function soon(ready: () => boolean, turns: number): Promise<void> {
  for (let turn = 0; turn < turns && !ready(); turn += 1) await Promise.resolve();
}
