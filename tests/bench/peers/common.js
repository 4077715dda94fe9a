// What the peers share: numbers, and a look at the first results. Knows no library.

/** n numbers in (-1, 1), the same for every library. @param {number} n @param {number} salt */
export function numbers(n, salt) {
  const found = new Float32Array(n);
  const some = Math.min(n, 1 << 20);
  for (let i = 0; i < some; i++) found[i] = (((i + salt) * 7919) % 1009) / 504.5 - 1;
  for (let at = some; at < n; at *= 2) found.copyWithin(at, 0, Math.min(at, n - at));
  return found;
}

/** Refuses a library's first results when they are not the product's.
 * @param {Float32Array} y @param {Float32Array} a [k] its first row
 * @param {(k: number, n: number) => number} b @param {number} tolerance of the root mean square */
export function checkProduct(y, a, b, tolerance) {
  const want = Array.from({ length: 8 }, (_, n) => a.reduce((sum, x, k) => sum + x * b(k, n), 0));
  const scale = Math.sqrt(want.reduce((sum, v) => sum + v * v, 0) / want.length);
  const worst = Math.max(...want.map((v, i) => Math.abs(v - y[i])));
  if (!(worst <= tolerance * scale)) throw new Error(`wrong result: off by ${worst / scale}`);
}

/** Labels below `classes`. @param {number} rows @param {number} classes */
export const labels = (rows, classes) =>
  Int32Array.from({ length: rows }, (_, i) => (i * 7919) % classes);

/** The MLP's weights: [shape, values] of w1, b1, w2, b2, and x and y. */
export function perceptron(batch, wide, hidden, out) {
  const part = (shape, salt, by) => {
    const values = numbers(shape.reduce((a, b) => a * b, 1), salt);
    return { shape, values: values.map((v) => v * by) };
  };
  return {
    w1: part([wide, hidden], 1, wide ** -0.5),
    b1: part([hidden], 2, wide ** -0.5),
    w2: part([hidden, out], 3, hidden ** -0.5),
    b2: part([out], 4, hidden ** -0.5),
    x: part([batch, wide], 5, 1),
    y: part([batch, out], 6, 1),
  };
}
