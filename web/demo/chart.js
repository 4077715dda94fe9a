// The live loss curve: uPlot, in the page's own colours.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

/** @typedef {import("../runtime/worker.js").WorkerEvent} WorkerEvent */

const colour = (/** @type {string} */ name) => () =>
  getComputedStyle(document.documentElement).getPropertyValue(name);

const axis = (/** @type {string} */ label) => ({
  label,
  stroke: colour("--text"),
  grid: { stroke: colour("--line"), width: 1 },
  ticks: { stroke: colour("--line"), width: 1 },
});

const line = (/** @type {string} */ label, /** @type {string} */ name, size = 5) => ({
  label,
  stroke: colour(name),
  width: 2,
  spanGaps: true,
  value: (/** @type {uPlot} */ _, /** @type {number | null} */ y) => y?.toFixed(3) ?? "",
  points: { show: true, size, fill: colour("--back") },
});

export class LossChart {
  /** Loss by step, and held-out loss by step. @type {Map<number, [number?, number?]>} */
  points = new Map();

  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    const { width, height } = this.size();
    this.plot = new uPlot(
      {
        width,
        height,
        cursor: { y: false },
        scales: { x: { time: false } },
        axes: [
          { ...axis("step"), incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
          axis("loss"),
        ],
        series: [
          { label: "step" },
          line("training loss", "--loss"),
          { ...line("held-out loss", "--eval", 9), dash: [6, 4] },
        ],
      },
      [[], [], []],
      place,
    );
    new ResizeObserver(() => this.plot.setSize(this.size())).observe(place);
    matchMedia("(prefers-color-scheme: dark)").onchange = () => this.plot.redraw();
  }

  size() {
    return { width: this.place.clientWidth, height: 320 };
  }

  clear() {
    this.points.clear();
    this.draw();
  }

  /** @param {number} step @param {number} loss */
  addLoss(step, loss) {
    this.points.set(step, [loss, this.points.get(step)?.[1]]);
    this.draw();
  }

  /** @param {number} step @param {number} loss of the held-out examples */
  addEval(step, loss) {
    this.points.set(step, [this.points.get(step)?.[0], loss]);
    this.draw();
  }

  draw() {
    const steps = [...this.points.keys()].sort((a, b) => a - b);
    const column = (/** @type {0 | 1} */ i) => steps.map((s) => this.points.get(s)?.[i] ?? null);
    this.plot.setData([steps, column(0), column(1)]);
    if (steps.length) this.plot.setLegend({ idx: steps.length - 1 });
  }
}
