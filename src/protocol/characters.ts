// Counts the characters of a text. A character outside the basic plane counts once, although it has two code units.

export function charactersOf(text: string): number {
  return text.replaceAll(/[\u{10000}-\u{10ffff}]/gu, " ").length;
}
