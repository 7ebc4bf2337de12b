// Puts the parts into the page, and folds the tables below them.

function start() {
  addThemeButton();
  if (runs.length === 0 && sides.length === 0) return;
  for (const fold of document.querySelectorAll('details.fold')) fold.open = false;
  if (runs.length > 0) {
    const variants = runs.length > 1 ? choice('Whose bars', runs.map((run) => [run.index, nameOf(run.name)]), 0, (index) => {
      state.run = index;
      for (const call of onRun) call();
      setMoment(state.moment);
    }) : null;
    const searching = el('div', { class: 'controls-line' }, makeSearch(), variants);
    // Where room is scarce, the search scrolls away and the slider stays.
    new ResizeObserver(() => root.style.setProperty('--searching', `${searching.offsetHeight}px`)).observe(searching);
    root.append(el('div', { class: 'controls' }, searching, makeClock()), makeCurves(), makeTimeline());
  } else {
    root.append(el('div', { class: 'controls' }, el('div', { class: 'controls-line' }, makeSearch())), ...makeSides());
  }
  for (const call of onRun) call();
  if (runs.length > 0) setMoment(peakMoment());
  focusOn(data.focus);
  printFolds();
  document.documentElement.classList.add('is-drawn');
}

/** The middle of the stretch in which the run costs most. */
function peakMoment() {
  const { cost, length } = theRun();
  let best = 0;
  cost.value.forEach((value, index) => {
    if (value > cost.value[best]) best = index;
  });
  return ((cost.at[best] ?? 0) + (cost.at[best + 1] ?? length)) / 2;
}

/** On paper every table is open. */
function printFolds() {
  const folds = [...document.querySelectorAll('details.fold')];
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = folds.filter((fold) => !fold.open);
    for (const fold of closed) fold.open = true;
  });
  addEventListener('afterprint', () => {
    for (const fold of closed) fold.open = false;
  });
}

/** Has the row of a node or of a pod in sight and chosen. */
function focusOn(name) {
  if (!name || sides.length === 0) return;
  const index = sideRows.items.findIndex((item) => !item.head && item.node.name === name);
  if (index >= 0) sideRows.activate(index);
  const pod = placedRows.items.findIndex((item) => !item.head && item.pod.name === name);
  if (pod < 0) return;
  document.querySelector('[data-value="pods"]').click();
  placedRows.activate(pod);
}

start();
