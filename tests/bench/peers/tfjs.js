// TensorFlow.js on its WebGPU backend, eager as it is.
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-webgpu";
import { checkProduct, labels, numbers, perceptron } from "./common.js";

const KNOWN = ["matmul", "loss", "mlp"];

export async function open() {
  if (!(await tf.setBackend("webgpu"))) throw new Error("tfjs found no WebGPU");
  await tf.ready();
}

export const variants = (/** @type {string} */ workload) =>
  JSON.stringify(KNOWN.includes(workload) ? ["tfjs"] : []);

async function done() {
  const backend = /** @type {any} */ (tf.backend());
  if (backend.commandEncoder) {
    backend.endComputePassEncoder();
    backend.submitQueue();
  }
  await backend.queue.onSubmittedWorkDone();
}

async function matmul(m, k, n) {
  const [x, y] = [numbers(m * k, 1), numbers(k * n, 2)];
  const [a, b] = [tf.tensor2d(x, [m, k]), tf.tensor2d(y, [k, n])];
  const first = tf.matMul(a, b);
  checkProduct(await first.data(), x.subarray(0, k), (i, j) => y[i * n + j], 1e-4);
  first.dispose();
  return { run: () => tf.matMul(a, b).dispose(), done, free: () => tf.dispose([a, b]) };
}

async function loss(rows, classes) {
  const x = tf.tensor2d(numbers(rows * classes, 1), [rows, classes]);
  const wanted = tf.oneHot(tf.tensor1d(labels(rows, classes), "int32"), classes);
  const mean = (x) => tf.losses.softmaxCrossEntropy(wanted, x);
  const both = tf.valueAndGrad(mean);
  const run = () => {
    const { value, grad } = both(x);
    tf.dispose([value, grad]);
  };
  return { run, done, free: () => tf.dispose([x, wanted]) };
}

async function mlp(...sizes) {
  const part = perceptron(...sizes);
  const made = (name) => tf.tensor(part[name].values, part[name].shape);
  const [w1, b1, w2, b2] = ["w1", "b1", "w2", "b2"].map((name) => tf.variable(made(name)));
  const [x, y] = [made("x"), made("y")];
  const adam = tf.train.adam(1e-3);
  const error = () => {
    const hidden = tf.relu(tf.add(tf.matMul(x, w1), b1));
    return /** @type {tf.Scalar} */ (
      tf.mean(tf.squaredDifference(tf.add(tf.matMul(hidden, w2), b2), y))
    );
  };
  const run = () => void adam.minimize(error, false, [w1, b1, w2, b2]);
  const free = () => {
    adam.dispose();
    tf.dispose([w1, b1, w2, b2, x, y]);
  };
  return { run, done, free };
}

/** @param {string} _ the only variant @param {string} json a workload and its sizes */
export function make(_, json) {
  const [workload, ...sizes] = JSON.parse(json);
  return { matmul, loss, mlp }[workload](...sizes);
}
