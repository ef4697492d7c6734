// Owns whether a number is a multiple of another as people write them: 19.99 is one of 0.01, whatever their bits say.

/** Digits, and by how many places they stand to the left: 0.25 is 25 and -2. */
function decimal(value: number): readonly [bigint, number] {
  const [digits = "", exponent = 0] = String(Math.abs(value)).split("e");
  const [whole = "", part = ""] = digits.split(".");
  return [BigInt(whole + part), Number(exponent) - part.length];
}

export function isMultiple(of: number, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  const [digits, places] = decimal(value);
  const [divisor, itsPlaces] = decimal(of);
  const least = Math.min(places, itsPlaces);
  return (digits * 10n ** BigInt(places - least)) % (divisor * 10n ** BigInt(itsPlaces - least)) === 0n;
}
