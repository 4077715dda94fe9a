// What build.py calls in the page (window.driver): the worker's calls, and its events in batches.

/** @typedef {import("../runtime/worker.js").WorkerEvent} WorkerEvent */
/** @typedef {import("./engine.js").Engine} Engine */

/** build.py's end of the event stream, where build.py drives this page. */
const { driverEvents } = /** @type {any} */ (self);
/** @type {WorkerEvent[]} */
let queue = [];
/** @type {Promise<void> | undefined} */
let flushing;

async function flush() {
  while (queue.length) {
    const batch = queue;
    queue = [];
    await driverEvents(JSON.stringify(batch));
  }
  flushing = undefined;
}

/** @param {WorkerEvent} event */
function forward(event) {
  queue.push(event);
  flushing ??= flush();
}

/** @param {Engine} engine */
export function expose(engine) {
  if (driverEvents) engine.listeners.add(forward);
  /** Ends only when build.py has all events. @param {Promise<any>} work */
  const whole = async (work) => {
    const result = await work;
    await flushing;
    return result;
  };
  /** @param {string} name @param {...any} args */
  const call = (name, ...args) => whole(engine.call(name, ...args));
  /** Sends what Python wrote under /out to build.py's server. */
  const saveOut = async () => {
    const names = await engine.call("outFiles");
    for (const name of names) {
      const body = await engine.call("readOut", name);
      const path = name.split("/").map(encodeURIComponent).join("/");
      const answer = await fetch(`/out/${path}`, { method: "PUT", body });
      if (!answer.ok) throw new Error(`out: ${name} was not taken: ${answer.status}`);
    }
    return names;
  };
  const interrupt = (/** @type {boolean} */ force) => engine.interrupt(force);
  return { whole, call, interrupt, saveOut };
}
