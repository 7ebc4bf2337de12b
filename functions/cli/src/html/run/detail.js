// What is known of one node or pod, beside the page or at its lower edge.

let returnFocusTo = null;

const panel = el('aside', { class: 'detail', 'aria-label': 'Detail', hidden: true });
document.body.append(panel);

function closeDetail() {
  if (panel.hidden) return;
  panel.hidden = true;
  document.documentElement.classList.remove('has-detail');
  if (returnFocusTo) returnFocusTo.focus({ preventScroll: true });
}

document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !panel.hidden) closeDetail();
});

/** Shows a detail with a heading; `from` gets the focus back. */
function openDetail(kind, name, content, from) {
  if (from && !panel.contains(from)) returnFocusTo = from;
  const heading = el('h2', { tabindex: '-1' }, el('small', {}, kind), ' ', nameOf(name));
  const close = el('button', { type: 'button', class: 'quiet close', onclick: closeDetail }, 'Close');
  panel.replaceChildren(el('div', { class: 'detail-head' }, heading, close), ...content);
  panel.hidden = false;
  document.documentElement.classList.add('has-detail');
  panel.scrollTop = 0;
  heading.focus({ preventScroll: true });
}

/** Facts, two columns. Those without a value are left out. */
function facts(pairs) {
  const rows = pairs.filter(([, value]) => value !== '' && value !== undefined && value !== null);
  return el('dl', {}, rows.map(([key, value]) => [el('dt', {}, key), el('dd', {}, value)]));
}

/** A share of something as a bar with its number. */
function meter(label, part, whole, shown) {
  const percent = percentOf(part, whole);
  const bar = el('span', { class: 'bar', 'aria-hidden': 'true' }, el('i', { style: `width:${Math.min(100, percent)}%` }));
  return el('p', { class: 'meter' }, el('span', {}, label), bar, el('span', { class: 'number' }, `${percent}%`),
    el('span', { class: 'soft' }, `${shown(part)} of ${shown(whole)}`));
}

/** Lines that a terminal would show, with their indents. */
function said(lines) {
  if (!lines) return null;
  const rows = lines.split('\n').filter((line) => line.trim());
  return el('div', { class: 'said' }, rows.map((line) => {
    // A count in a column of its own, as of what a filter leaves.
    const column = line.match(/^ +(\d+) {2}(.*)$/);
    if (column) return el('p', { class: 'said-count' }, el('b', {}, column[1]), ` ${column[2]}`);
    const indent = (line.length - line.trimStart().length) >> 1;
    return el('p', { class: indent === 0 ? 'said-heading' : '', style: `--indent:${Math.max(0, indent - 1)}` }, line.trim());
  }));
}

const LISTED_MAX = 200;

/** Names as buttons that open their details. */
function listOf(title, items, open) {
  if (items.length === 0) return null;
  const shown = items.slice(0, LISTED_MAX);
  const more = items.length - shown.length;
  return el('section', {}, el('h3', {}, `${title} (${inWhole.format(items.length)})`),
    el('ul', { class: 'names' }, shown.map((item) => el('li', {}, linkTo(item, open)))),
    more > 0 ? el('p', { class: 'soft' }, `and ${inWhole.format(more)} more`) : null);
}

function linkTo(item, open) {
  return el('button', { type: 'button', class: 'link', onclick: (event) => open(item, event.currentTarget) },
    nameOf(item.isNode ? shortName(item.name) : item.name));
}
