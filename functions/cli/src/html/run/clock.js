// The moment that is looked at, and the run: a slider moves it, and charts follow.

const state = { run: 0, moment: 0, query: '', shows: 'nodes' };
const onMoment = [];
const onRun = [];
const theRun = () => runs[state.run];
/** The longest run: all charts have one scale of time. */
const lengthMax = Math.max(1, ...runs.map((run) => run.length));

const slider = el('input', { type: 'range', min: 0, max: 1000, step: 1, value: 0, 'aria-label': 'Moment of the run' });
const momentLabel = el('output', { class: 'moment' });
const sentence = el('p', { class: 'at', role: 'status' });

const tellMoment = framed(() => {
  root.style.setProperty('--at', String(state.moment / lengthMax));
  for (const call of onMoment) call();
});

/** Goes to a moment, in tenths of a second since the start. */
function setMoment(moment) {
  state.moment = Math.min(lengthMax, Math.max(0, Math.round(moment)));
  slider.value = state.moment;
  const at = momentText(state.moment);
  slider.setAttribute('aria-valuetext', at);
  momentLabel.textContent = at;
  tellMoment();
}

/** `+2h10m · 02:10 UTC`, with the date in a run of more than a day. */
function momentText(moment) {
  const clock = new Date(theRun().start + moment * 100).toISOString();
  const day = lengthMax > 864000 ? `${clock.slice(0, 10)} ` : '';
  return `+${duration(moment)} · ${day}${clock.slice(11, lengthMax < 72000 ? 19 : 16)} UTC`;
}

/** Moments at which something happens to a node of the run, in order. */
function eventsOf(run) {
  if (!run.events) {
    const all = new Set();
    for (const node of run.nodes) {
      for (const at of [node.launched, node.joined, node.ready, node.draining, node.gone]) if (at >= 0) all.add(at);
    }
    run.events = [...all].sort((a, b) => a - b);
  }
  return run.events;
}

function step(direction) {
  const events = eventsOf(theRun());
  const next = direction > 0
    ? events.find((at) => at > state.moment)
    : events.filter((at) => at < state.moment).pop();
  setMoment(next ?? (direction > 0 ? theRun().length : 0));
}

/** What the cluster is at the moment, in a sentence. */
function momentSentence() {
  const run = theRun();
  const counts = { launched: 0, joining: 0, ready: 0, draining: 0 };
  for (const node of run.nodes) {
    const own = stateAt(node, state.moment);
    if (own) counts[own] += 1;
  }
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const beside = [['launched', 'booting'], ['joining', 'joining'], ['draining', 'draining']]
    .filter(([own]) => counts[own] > 0).map(([own, word]) => `${counts[own]} ${word}`);
  const cost = valueAt(run.cost, state.moment) ?? 0;
  const least = valueAt(run.least, state.moment);
  const parts = [
    counted(all, 'node') + (beside.length ? ` (${beside.join(', ')})` : ''),
    hourly(cost) + (least === undefined ? '' : `, least ${hourly(least)}`),
    `${counted(valueAt(run.bound, state.moment) ?? 0, 'pod')} on nodes`,
    `${inWhole.format(valueAt(run.pending, state.moment) ?? 0)} pending`,
  ];
  return parts.join(' · ');
}

function makeClock() {
  slider.max = lengthMax;
  slider.step = Math.max(1, Math.round(lengthMax / 2000));
  slider.addEventListener('input', () => setMoment(Number(slider.value)));
  const tell = () => {
    sentence.textContent = momentSentence();
  };
  onMoment.push(tell);
  onRun.push(tell);
  return el('div', { class: 'clock' },
    el('div', { class: 'clock-line' },
      el('button', { type: 'button', class: 'quiet', 'aria-label': 'Event before', onclick: () => step(-1) }, '‹'),
      slider,
      el('button', { type: 'button', class: 'quiet', 'aria-label': 'Next event', onclick: () => step(1) }, '›'),
      momentLabel),
    sentence);
}

/** Buttons of which one is pressed. */
function choice(label, options, chosen, choose) {
  const buttons = options.map(([value, shown]) => el('button', {
    type: 'button', 'data-value': value, 'aria-pressed': String(value === chosen),
    onclick: (event) => {
      for (const button of buttons) button.setAttribute('aria-pressed', String(button === event.currentTarget));
      choose(value);
    },
  }, shown));
  return el('div', { class: 'choice', role: 'group', 'aria-label': label }, buttons);
}
