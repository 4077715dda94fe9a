// Elements moved as bits: PER = 1 for four-byte elements, 4 for single bytes packed in words.
override PER: u32 = 1u;

// Element `at` of a buffer, out of the word that holds it.
fn part(word: u32, at: u32) -> u32 {
  if (PER == 1u) { return word; }
  return (word >> (8u * (at % 4u))) & 255u;
}
