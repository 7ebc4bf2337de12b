// Curves over time: cost against the least, pods that wait, and how long they waited.

const BINS = 240;
const CHART_HEIGHT = 116;
/** Colours and dashes of runs; with more runs they come again. */
const TONES = 6;

/** A table, with the columns that are numbers aligned as such. */
function table(head, rows, numbers) {
  const is = (index) => (numbers.includes(index) ? { class: 'number' } : {});
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table' }, el('table', {},
    el('thead', {}, el('tr', {}, head.map((word, index) => el('th', { scope: 'col', ...is(index) }, word)))),
    el('tbody', {}, rows.map((row) => el('tr', {}, row.map((cell, index) => el('td', is(index), String(cell))))))));
}

/** A table in place of a chart, made once somebody wants it. */
function tableOf(make) {
  const place = el('div', {});
  const fold = el('details', { class: 'as-table' }, el('summary', {}, 'As a table'), place);
  const fill = () => fold.open && place.replaceChildren(...make());
  fold.addEventListener('toggle', fill);
  onRun.push(fill);
  return fold;
}

/** The longest wait of pods that got a node in each stretch of time. */
function waitsOf(run) {
  if (!run.waits) {
    const waits = new Array(BINS).fill(0);
    for (const pod of run.pods) {
      if (pod.bound < 0 || pod.isDaemon) continue;
      const bin = Math.min(BINS - 1, Math.floor((pod.bound / lengthMax) * BINS));
      waits[bin] = Math.max(waits[bin], pod.bound - pod.created);
    }
    run.waits = waits;
  }
  return run.waits;
}

/** A round number at or above another. */
function roundUp(value) {
  if (value <= 0) return 1;
  const scale = 10 ** Math.floor(Math.log10(value));
  return [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].map((own) => own * scale).find((own) => own >= value - scale * 1e-9);
}

function stepPath(curve, x, y, until) {
  let path = '';
  for (let index = 0; index < curve.at.length; index += 1) {
    const own = x(curve.at[index]).toFixed(1);
    path += index === 0 ? `M${own} ${y(curve.value[index]).toFixed(1)}` : `H${own}V${y(curve.value[index]).toFixed(1)}`;
  }
  return path && `${path}H${x(until).toFixed(1)}`;
}

const CHARTS = [
  {
    title: 'Cost', unit: 'an hour', shown: (value) => (value === 0 ? '0' : `$${(value / 1e9).toFixed(value < 1e9 ? 3 : 2)}`),
    round: (value) => roundUp(Math.max(value, 1e7)),
    lines: (run) => [{ curve: run.cost }, ...(run.least.at.length ? [{ curve: run.least, isLeast: true }] : [])],
    at: (run, moment) => hourly(valueAt(run.cost, moment) ?? 0),
  },
  {
    title: 'Pending pods', unit: '', shown: (value) => inWhole.format(value),
    round: (value) => (value <= 10 ? [2, 4, 6, 10].find((own) => own >= value) : 2 * Math.ceil(roundUp(value) / 2)),
    lines: (run) => [{ curve: run.pending }],
    at: (run, moment) => inWhole.format(valueAt(run.pending, moment) ?? 0),
  },
  {
    title: 'Longest wait', unit: 'of pods that got a node then', shown: (value) => roughly(value),
    round: (value) => ([100, 300, 600, 1200, 1800, 3000, 6000, 9000, 18000, 36000].find((own) => own >= value) || roundUp(value / 36000) * 36000),
    bins: waitsOf,
    at: (run, moment) => {
      const wait = waitsOf(run)[Math.min(BINS - 1, Math.floor((moment / lengthMax) * BINS))];
      return wait > 0 ? duration(wait) : '–';
    },
  },
];

function peakOf(chart) {
  let peak = 0;
  for (const run of runs) {
    if (chart.bins) for (const own of chart.bins(run)) peak = Math.max(peak, own);
    else for (const { curve } of chart.lines(run)) for (const own of curve.value) peak = Math.max(peak, own);
  }
  return peak;
}

function drawChart(chart, drawing, width) {
  const height = CHART_HEIGHT;
  const [top, bottom] = [8, height - 4];
  const peak = chart.round(peakOf(chart));
  const x = (moment) => (moment / lengthMax) * width;
  const y = (value) => bottom - (value / peak) * (bottom - top);
  drawing.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const parts = [];
  for (const share of [0, 0.5, 1]) {
    const own = y(peak * share).toFixed(1);
    parts.push(draw('path', { d: `M0 ${own}H${width}`, class: 'grid' }));
  }
  for (const moment of ticksOf(lengthMax)) parts.push(draw('path', { d: `M${x(moment).toFixed(1)} ${top}V${bottom}`, class: 'grid' }));
  for (const run of runs) {
    const isAside = runs.length > 1 && run.index !== state.run;
    const tone = `v${run.index % TONES}${isAside ? ' aside' : ''}`;
    if (chart.bins) {
      const bin = width / BINS;
      const shift = runs.length > 1 ? (bin / runs.length) * run.index : bin / 2;
      const path = chart.bins(run).map((own, index) => (own > 0 ? `M${(index * bin + shift).toFixed(1)} ${bottom}V${y(own).toFixed(1)}` : '')).join('');
      parts.push(draw('path', { d: path, class: `line bins ${tone}` }));
      continue;
    }
    for (const { curve, isLeast } of chart.lines(run)) {
      const path = stepPath(curve, x, y, run.length);
      if (!path) continue;
      if (!isLeast && runs.length === 1) {
        parts.push(draw('path', { d: `${path}V${bottom}H${x(curve.at[0]).toFixed(1)}Z`, class: `area ${tone}` }));
      }
      parts.push(draw('path', { d: path, class: isLeast ? `line least${isAside ? ' aside' : ''}` : `line ${tone}` }));
    }
  }
  drawing.replaceChildren(...parts);
}

function summaryOf(chart) {
  return runs.map((run) => {
    const values = chart.bins ? chart.bins(run) : chart.lines(run)[0].curve.value;
    const peak = values.reduce((most, own) => Math.max(most, own), 0);
    const name = runs.length > 1 ? `${run.name}: ` : '';
    return `${name}${chart.shown(peak)} at most, ${chart.at(run, run.length)} at the end`;
  }).join('; ');
}

function makeChart(chart) {
  const drawing = draw('svg', { role: 'img', preserveAspectRatio: 'none', 'aria-label': `${chart.title} over time: ${summaryOf(chart)}` });
  const plot = el('div', { class: 'plot' }, drawing, el('i', { class: 'cursor', 'aria-hidden': 'true' }));
  const peak = chart.round(peakOf(chart));
  const values = el('div', { class: 'values' });
  const tell = () => values.replaceChildren(...runs.map((run) => el('span', { class: `value v${run.index % TONES}` },
    runs.length > 1 ? el('i', { class: `swatch v${run.index % TONES}` }) : null, chart.at(run, state.moment))));
  const redraw = () => plot.clientWidth > 0 && drawChart(chart, drawing, plot.clientWidth);
  new ResizeObserver(redraw).observe(plot);
  onMoment.push(tell);
  onRun.push(redraw);
  const seek = (event) => {
    const box = plot.getBoundingClientRect();
    setMoment(((event.clientX - box.left) / box.width) * lengthMax);
  };
  plot.addEventListener('pointerdown', (event) => {
    plot.setPointerCapture(event.pointerId);
    seek(event);
  });
  plot.addEventListener('pointermove', (event) => plot.hasPointerCapture(event.pointerId) && seek(event));
  return el('div', { class: 'curve' },
    el('div', { class: 'curve-head' }, el('h3', {}, chart.title, chart.unit ? el('small', {}, ` ${chart.unit}`) : null), values),
    el('div', { class: 'scale', 'aria-hidden': 'true' }, el('span', {}, chart.shown(peak)), el('span', {}, chart.shown(peak / 2)), el('span', {}, '0')),
    plot);
}

/** Figures at even distances. */
function curveTable() {
  const moments = range(25).map((index) => Math.round((lengthMax * index) / 24));
  const head = ['Time'];
  for (const run of runs) {
    const name = runs.length > 1 ? ` (${run.name})` : '';
    head.push(`$/hour${name}`, `Least $/hour${name}`, `Pods on nodes${name}`, `Pending${name}`, `Longest wait${name}`);
  }
  const rows = moments.map((moment) => [`+${duration(moment)}`, ...runs.flatMap((run) => {
    const least = valueAt(run.least, moment);
    return [hourly(valueAt(run.cost, moment) ?? 0), least === undefined ? '–' : hourly(least),
      valueAt(run.bound, moment) ?? 0, valueAt(run.pending, moment) ?? 0, CHARTS[2].at(run, moment)];
  })]);
  return [table(head, rows, range(head.length).slice(1))];
}

function makeCurves() {
  const keys = runs.length > 1
    ? runs.map((run) => el('span', {}, el('i', { class: `swatch v${run.index % TONES}` }), nameOf(run.name)))
    : [el('span', {}, el('i', { class: 'swatch v0' }), 'cost')];
  const hasLeast = runs.some((run) => run.least.at.length > 0);
  if (hasLeast) {
    const every = Math.max(...runs.map((run) => run.leastInterval));
    keys.push(el('span', {}, el('i', { class: 'swatch least' }), 'the least that pods need then',
      every > 600 ? `, worked out every ${roughly(every)} at most` : ''));
  }
  return el('section', { class: 'chart curves', 'aria-label': 'Cost, pending pods and waiting over time' },
    el('div', { class: 'chart-head' }, el('h2', {}, 'Cost and waiting'), el('p', { class: 'legend' }, keys)),
    el('div', { class: 'chart-frame' }, CHARTS.map(makeChart), el('div', { class: 'curve curve-axis' }, axis())), tableOf(curveTable));
}
