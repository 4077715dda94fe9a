// jax-js: its products, losses and train step, eager or by jit, whichever it offers.
import { blockUntilReady, defaultDevice, init, jit, nn, numpy as np, tree, valueAndGrad } from "@jax-js/jax";
import { checkProduct, labels, numbers, perceptron } from "./common.js";

const VARIANTS = {
  matmul: ["jax-js", "jax-js jit"],
  loss: ["jax-js"],
  mlp: ["jax-js jit"],
};

export async function open() {
  const found = await init("webgpu");
  if (!found.includes("webgpu")) throw new Error("jax-js found no WebGPU");
  defaultDevice("webgpu");
}

export const variants = (/** @type {string} */ workload) =>
  JSON.stringify(VARIANTS[workload] ?? []);

const array = (values, shape) => np.array(values).reshape(shape);

/** Results are kept until all are there: an array that is let go before may never be computed.
 * @param {() => any} call @param {any} owned */
function task(call, owned) {
  let made = [];
  return {
    run: () => void made.push(call()),
    async done() {
      await blockUntilReady(made);
      tree.dispose(made);
      made = [];
    },
    free: () => tree.dispose(owned),
  };
}

async function matmul(variant, m, k, n) {
  const [x, y] = [numbers(m * k, 1), numbers(k * n, 2)];
  const [a, b] = [array(x, [m, k]), array(y, [k, n])];
  const multiply = variant.endsWith("jit") ? jit((a, b) => np.matmul(a, b)) : np.matmul;
  const first = await multiply(a.ref, b.ref).data();
  checkProduct(first, x.subarray(0, k), (i, j) => y[i * n + j], 1e-4);
  return task(() => multiply(a.ref, b.ref), [a, b]);
}

async function loss(_, rows, classes) {
  const x = array(numbers(rows * classes, 1), [rows, classes]);
  const at = np.array(labels(rows, classes), { dtype: np.int32 }).reshape([rows, 1]);
  const mean = (x) => {
    const peak = nn.logSoftmax(x, -1);
    return np.takeAlongAxis(peak, at.ref, 1).mean().neg();
  };
  const both = valueAndGrad(mean);
  return task(() => both(x.ref), [x, at]);
}

const RATE = 1e-3;
const [BETA1, BETA2, EPS] = [0.9, 0.999, 1e-8];

async function mlp(_, ...sizes) {
  const part = perceptron(...sizes);
  const made = (name) => array(part[name].values, part[name].shape);
  const [x, y] = [made("x"), made("y")];
  let weights = ["w1", "b1", "w2", "b2"].map(made);
  const zeros = () => weights.map((w) => np.zeros(w.shape));
  let [first, second] = [zeros(), zeros()];
  const error = ([w1, b1, w2, b2], x, y) =>
    np.square(np.matmul(nn.relu(np.matmul(x, w1).add(b1)), w2).add(b2).sub(y)).mean();
  const step = jit((weights, first, second, x, y) => {
    const [value, slopes] = valueAndGrad(error)(tree.ref(weights), x, y);
    const m = first.map((m, i) => m.mul(BETA1).add(slopes[i].ref.mul(1 - BETA1)));
    const v = second.map((v, i) => v.mul(BETA2).add(np.square(slopes[i]).mul(1 - BETA2)));
    const next = weights.map((w, i) => {
      const by = np.sqrt(v[i].ref.mul(1 / (1 - BETA2))).add(EPS);
      return w.sub(m[i].ref.mul(RATE / (1 - BETA1)).div(by));
    });
    return [next, m, v, value];
  });
  let value;
  return {
    run() {
      value?.dispose();
      [weights, first, second, value] = step(weights, first, second, x.ref, y.ref);
    },
    done: () => blockUntilReady([weights, first, second, value]),
    free: () => tree.dispose([weights, first, second, value, x, y]),
  };
}

/** @param {string} variant @param {string} json a workload and its sizes */
export function make(variant, json) {
  const [workload, ...sizes] = JSON.parse(json);
  return { matmul, loss, mlp }[workload](variant, ...sizes);
}
