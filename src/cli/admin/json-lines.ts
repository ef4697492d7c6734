/**
 * Yields the lines of a newline-delimited JSON answer as they arrive. Rejects if the answer ends in the middle of a
 * line.
 */
export async function* jsonLines<T>({ body }: Response): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as T;
  }
  if (text !== "") yield JSON.parse(text) as T;
}
