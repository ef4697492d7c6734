// The words that the servers of this folder have in common.

const WORDS = ["test", "testing", "tested", "word"];
export const TEXTS = ["one", "two", "three"];

export const wordsLike = (value: string): string[] => WORDS.filter((word) => word.startsWith(value));
