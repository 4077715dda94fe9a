// A model of one node as ONNX's protobuf (onnx.proto3, IR version 8): just what ort.js needs.

/** @param {number} value */
function varint(value) {
  const found = [];
  for (; value > 127; value = Math.floor(value / 128)) found.push((value % 128) | 128);
  return [...found, value];
}

/** @param {(Uint8Array | number[])[]} parts */
function join(...parts) {
  const found = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  parts.reduce((at, part) => (found.set(part, at), at + part.length), 0);
  return found;
}

const int = (field, value) => join(varint(field * 8), varint(value));
const bytes = (field, data) => join(varint(field * 8 + 2), varint(data.length), data);
const text = (field, value) => bytes(field, new TextEncoder().encode(value));

/** ValueInfoProto of an f32 tensor. */
function value(name, dims) {
  const shape = join(...dims.map((d) => bytes(1, int(1, d))));
  return join(text(1, name), bytes(2, bytes(1, join(int(1, 1), bytes(2, shape)))));
}

/**
 * @param {{op: string, domain?: string, inputs: string[], attributes: Record<string, number>}} node
 * @param {Record<string, number[]>} inputs their shapes, f32
 * @param {number[]} output the shape of y
 * @param {{name: string, type: number, dims: number[], bytes: Uint8Array}[]} stored
 */
export function model(node, inputs, output, stored) {
  const attributes = Object.entries(node.attributes).map(([name, v]) =>
    bytes(5, join(text(1, name), int(3, v), int(20, 2))),
  );
  const made = join(
    ...node.inputs.map((name) => text(1, name)),
    text(2, "y"),
    text(4, node.op),
    ...attributes,
    text(7, node.domain ?? ""),
  );
  const graph = join(
    bytes(1, made),
    text(2, "one"),
    ...stored.map((t) =>
      bytes(5, join(...t.dims.map((d) => int(1, d)), int(2, t.type), text(8, t.name), bytes(9, t.bytes))),
    ),
    ...Object.entries(inputs).map(([name, dims]) => bytes(11, value(name, dims))),
    bytes(12, value("y", output)),
  );
  const opset = (domain, version) => bytes(8, join(text(1, domain), int(2, version)));
  return join(int(1, 8), bytes(7, graph), opset("", 17), opset("com.microsoft", 1));
}
