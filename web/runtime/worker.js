// The module worker where Python and WebGPU live: boot, files, run, job. Knows no ops or shapes.
import * as Comlink from "comlink";
import { createRuntime } from "./index.js";
import { tokenizer } from "../text/tokenizer.js";
import source from "./run.py";

/** @typedef {{type: string, [key: string]: any}} WorkerEvent */

/** What Python sees under /files, by path. @type {Map<string, Blob>} */
const files = new Map();
/** @type {any} */
let pyodide;
/** Python's half, run.py's globals. @type {any} */
let python;
/** Kept, for Pyodide hides it after a fatal error and /out is worth having then too. @type {any} */
let disk;
/** @type {any} */
let mount;
/** @type {Int32Array | undefined} */
let interrupts;
/** @type {(event: WorkerEvent) => any} */
let listener = () => undefined;
/** The last event's receipt: events come in order, so it stands for all. @type {any} */
let received;

/** @param {WorkerEvent} event */
const emit = (event) => void (received = listener(event));

/** @param {"stdout" | "stderr"} type */
function stream(type) {
  const decoder = new TextDecoder();
  return {
    /** @param {Uint8Array} bytes */
    write(bytes) {
      emit({ type, text: decoder.decode(bytes, { stream: true }) });
      return bytes.length;
    },
  };
}

/** loadPackage tells failures but never rejects. @param {string[]} names */
async function loadPackages(names) {
  /** @type {string[]} */
  const problems = [];
  const quiet = () => undefined;
  const errorCallback = (/** @type {string} */ text) => void problems.push(text);
  const loaded = await pyodide.loadPackage(names, { messageCallback: quiet, errorCallback });
  const missing = names.filter((name) => !loaded.some((/** @type {any} */ p) => p.name === name));
  if (missing.length) throw new Error(`boot: no ${missing.join(", ")}: ${problems.join("; ")}`);
}

/** @param {string} url */
async function fetchChecked(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`worker: ${url} answered ${answer.status}; check the address`);
  return answer;
}

/** How a call ends when Python itself dies: its promise never does. @type {(json: string) => void} */
let die;
/** @type {Promise<string>} */
const died = new Promise((resolve) => (die = resolve));

/** @param {{message: string, status?: number}} cause */
function onFatal({ message, status }) {
  const error = `python: the interpreter ended: ${message}; start it again\n`;
  const end = status === undefined ? { status: 1, error } : { status, error: "" }; // os._exit
  die(JSON.stringify({ ok: end.status === 0, ...end }));
}

/** @param {any} call a promise of run.py's JSON */
async function finish(call) {
  const result = JSON.parse(await Promise.race([call, died]));
  await received;
  return result;
}

/** @param {string} folder @returns {string[]} */
function list(folder) {
  const names = disk.readdir(folder).filter((/** @type {string} */ n) => !/^\.\.?$/.test(n));
  return names.flatMap((/** @type {string} */ name) => {
    const path = `${folder}/${name}`;
    return disk.isDir(disk.stat(path).mode) ? list(path) : [path];
  });
}

/** An ErrnoError as it is, rejecting, would leave Python waiting for ever. @param {string} path */
function readFile(path) {
  try {
    return disk.readFile(path);
  } catch {
    throw new Error(`${path} is not a file that can be read`);
  }
}

const api = {
  /**
   * @param {{pyodideUrl: string, wheelUrl: string, packages?: string[],
   *   interrupt?: SharedArrayBuffer}} options
   * @param {(event: WorkerEvent) => any} onEvent
   */
  async boot({ pyodideUrl, wheelUrl, packages = [], interrupt }, onEvent) {
    listener = onEvent;
    const indexURL = new URL(pyodideUrl, self.location.href).href;
    const wheel = fetchChecked(wheelUrl).then((answer) => answer.arrayBuffer());
    const { loadPyodide } = await import(/* @vite-ignore */ `${indexURL}pyodide.mjs`);
    pyodide = await loadPyodide({ indexURL });
    pyodide.setStdout(stream("stdout"));
    pyodide.setStderr(stream("stderr"));
    pyodide._api.on_fatal = onFatal;
    disk = pyodide.FS;
    disk.mkdir("/files");
    disk.mkdir("/out");
    mount = disk.mount(disk.filesystems.WORKERFS, {}, "/files");
    pyodide.registerJsModule("nibblegrad_runtime", createRuntime({ files, tokenizer, readFile }));
    if (packages.length) await loadPackages(packages);
    pyodide.unpackArchive(await wheel, "wheel");
    python = pyodide.toPy({ __name__: "nibblegrad_worker" });
    await pyodide.runPythonAsync(source, { globals: python, filename: "run.py" });
    if (interrupt) pyodide.setInterruptBuffer((interrupts = new Int32Array(interrupt)));
    return { pyodide: pyodide.version, python: pyodide.runPython("import sys; sys.version") };
  },

  /** Shows a file as /files/NAME, never in the heap. @param {string} name @param {string | Blob} from */
  async addFile(name, from) {
    const blob = typeof from === "string" ? await (await fetchChecked(from)).blob() : from;
    const { WORKERFS } = disk.filesystems;
    const path = `/files/${name}`;
    if (files.has(path)) disk.destroyNode(disk.lookupPath(path).node);
    WORKERFS.createNode(mount, name, WORKERFS.FILE_MODE, 0, blob);
    files.set(path, blob);
  },

  /** @param {string} code @param {{filename?: string, argv?: string[]}} options */
  run(code, { filename = "script.py", argv = [] } = {}) {
    return finish(python.get("run").callPromising(code, filename, JSON.stringify(argv)));
  },

  /** @param {string} code @param {string} data JSON, the code's `data` */
  evaluate(code, data) {
    return finish(python.get("evaluate").callPromising(code, data));
  },

  /** @param {object} config */
  finetune(config) {
    const forward = (/** @type {string} */ json) => emit({ type: "job", ...JSON.parse(json) });
    return finish(python.get("finetune").callPromising(JSON.stringify(config), forward));
  },

  stop() {
    python.get("stop")();
  },

  /** Ends what waits; what computes has taken the interrupt already. @param {boolean} [force] */
  interrupt(force) {
    if (interrupts && interrupts[0] === 0 && !force) return;
    if (interrupts) interrupts[0] = 0;
    python.get("cancel")();
  },

  outFiles() {
    return list("/out").map((path) => path.slice("/out/".length));
  },

  /** @param {string} name */
  readOut(name) {
    const bytes = disk.readFile(`/out/${name}`);
    return Comlink.transfer(bytes, [bytes.buffer]);
  },

  clearOut() {
    for (const path of list("/out")) disk.unlink(path);
  },
};

Comlink.expose(api);
