// A cluster at one moment, or before and after something: what each node holds, and what it costs.

let side = 0;
const theSide = () => sides[side];
const isOn = (node, index) => node.usePods[index] >= 0;
const lastOf = (node) => node.usePods.length - 1;

function useBars(node, usesOf, whole) {
  return el('span', { class: 'use' }, range(usesOf.length).map((index) => {
    const used = usesOf[index];
    const percent = used < 0 ? 0 : percentOf(used, whole);
    const isLast = index === usesOf.length - 1;
    return el('span', { class: `use-bar${isLast ? '' : ' before'}${used < 0 ? ' none' : ''}` },
      el('i', { style: `width:${Math.min(100, percent)}%` }));
  }));
}

const shareOf = (node, usesOf, whole) => {
  const used = usesOf[lastOf(node)];
  return used < 0 ? '–' : `${percentOf(used, whole)}%`;
};

function sideRow({ node }) {
  return [
    el('span', { class: 'row-name', title: node.name }, nameOf(shortName(node.name)),
      el('span', { class: 'row-kind' }, ` ${node.kind} ${node.capacity}`)),
    el('span', { class: `row-state chip ${stateClass(node.state)}` }, node.state),
    el('span', { class: 'row-cell', 'data-label': 'CPU' }, useBars(node, node.useCpu, node.cpu), el('span', { class: 'row-use' }, shareOf(node, node.useCpu, node.cpu))),
    el('span', { class: 'row-cell', 'data-label': 'Mem' }, useBars(node, node.useMemory, node.memory), el('span', { class: 'row-use' }, shareOf(node, node.useMemory, node.memory))),
    el('span', { class: 'row-price' }, monthly(node.price)),
  ];
}

const stateClass = (own) => ({
  new: 'joining', goes: 'draining', ready: 'calm', launching: 'launched', joining: 'joining', 'not ready': 'pending',
}[own] || 'draining');

function describeSide({ node }) {
  return [node.pool, node.zone,
    `CPU ${shareOf(node, node.useCpu, node.cpu)}`, `memory ${shareOf(node, node.useMemory, node.memory)}`].join(', ');
}

const podState = { 'no place': 'pending', waits: 'pending', moves: 'draining', 'gets a place': 'joining', stays: 'calm', 'on a node': 'calm' };

function placedRow({ pod }) {
  const where = [pod.from, pod.to].filter(Boolean).map(shortName).join(' → ') || '–';
  return [
    el('span', { class: 'row-name', title: pod.name }, nameOf(pod.name)),
    el('span', { class: `row-state chip ${podState[pod.state]}` }, pod.state),
    el('span', { class: 'row-where' }, el('bdi', {}, where)),
    el('span', { class: 'row-price' }, `${cpuText(pod.cpu)} · ${memoryText(pod.memory)}`),
  ];
}

const describePlaced = ({ pod }) => [pod.from && `on ${pod.from}`, pod.to && `to ${pod.to}`].filter(Boolean).join(', ');

function openSideNode(node, from) {
  const isIt = (name) => name === node.name;
  const after = placedPods.filter((pod) => isIt(pod.to || pod.from) && pod.state !== 'no place');
  const before = placedPods.filter((pod) => isIt(pod.from) && pod.to);
  const labels = theSide().labels;
  const meters = labels.flatMap((label, index) => (isOn(node, index) ? [
    labels.length > 1 ? el('h3', {}, `Requested ${label}`) : el('h3', {}, 'Requested'),
    meter('CPU', node.useCpu[index], node.cpu, cpuText), meter('Memory', node.useMemory[index], node.memory, memoryText),
    el('p', { class: 'soft' }, counted(node.usePods[index], 'pod')),
  ] : []));
  openDetail('Node', node.name, [
    el('p', { class: 'states' }, el('span', { class: `chip ${stateClass(node.state)}` }, node.state)),
    facts([
      ['NodePool', node.pool], ['Zone', node.zone], ['Instance', `${node.kind} ${node.capacity}`],
      ['Price', node.price < 0 ? 'not known' : `${hourly(node.price)}, ${monthly(node.price)} a month`],
    ]),
    ...meters,
    node.said ? el('h3', {}, 'Why') : null, said(node.said),
    listOf('Pods that leave it', before, openPlaced),
    listOf(labels.length > 1 ? `Pods on it ${labels[labels.length - 1]}` : 'Pods on it', after, openPlaced),
  ].filter(Boolean), from);
}

function openPlaced(pod, from) {
  const node = (name) => theSide().nodes.find((own) => own.name === name);
  const link = (name) => (!name ? '' : node(name) ? linkTo(node(name), openSideNode) : nameOf(name));
  openDetail('Pod', pod.name, [
    el('p', { class: 'states' }, el('span', { class: `chip ${podState[pod.state]}` }, pod.state)),
    facts([['Requests', `${cpuText(pod.cpu)} CPU, ${memoryText(pod.memory)}`], ['Runs on', link(pod.from)], ['Goes to', link(pod.to)]]),
    pod.said ? el('h3', {}, 'Why') : null, said(pod.said),
  ].filter(Boolean), from);
}

const sideRows = new Rows({ label: 'Nodes', className: 'of-sides', render: (item) => (item.head ? headWords(item.words) : sideRow(item)), describe: describeSide, named: (item) => item.node, open: (item, list) => openSideNode(item.node, list) });
const placedRows = new Rows({ label: 'Pods', className: 'of-sides of-pods', render: (item) => (item.head ? headWords(item.words) : placedRow(item)), describe: describePlaced, named: (item) => item.pod, open: (item, list) => openPlaced(item.pod, list) });

/** Number and price of nodes on a side. */
function sumOf(nodes, index) {
  const own = nodes.filter((node) => isOn(node, index));
  return { count: own.length, price: own.reduce((sum, node) => sum + Math.max(0, node.price), 0) };
}

function change(nodes, write) {
  const sums = theSide().labels.map((_, index) => write(sumOf(nodes, index)));
  return [...new Set(sums)].join(' → ');
}

const nodesText = (change) => (change === '1' ? '1 node' : `${change} nodes`);
const placeOf = (node) => `${node.pool}\u0000${node.zone}`;

function showSide(nodes) {
  sideRows.setItems(grouped(nodes.map((node) => ({ node, key: node.name + node.kind })), ({ node }) => placeOf(node), (key, items) => {
    const [pool, zone] = key.split('\u0000');
    const own = items.map((item) => item.node);
    return [pool, `· ${zone}`, `· ${nodesText(change(own, (sum) => sum.count))}`, `· ${change(own, (sum) => monthly(sum.price))}`];
  }));
}

function showPlaced(pods) {
  placedRows.setItems(grouped(pods.map((pod) => ({ pod, key: pod.name })), ({ pod }) => pod.stem, (stem, items) => [workloadOf(stem), `· ${counted(items.length, 'pod')}`]));
}

/** What each NodePool costs in each zone: a table with bars. */
function placesTable() {
  const { labels, nodes } = theSide();
  const places = [...new Set(nodes.map(placeOf))].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const of = (place) => nodes.filter((node) => placeOf(node) === place);
  const peak = Math.max(1, ...places.flatMap((place) => labels.map((_, index) => sumOf(of(place), index).price)));
  const isTwo = labels.length > 1;
  const row = (pool, zone, own) => el('tr', {},
    el('td', {}, el('bdi', {}, pool), zone ? el('span', { class: 'place-zone' }, zone) : null),
    el('td', { class: 'wide' }, zone ? el('span', { class: 'use', 'aria-hidden': 'true' }, labels.map((_, index) => el('span', {
      class: `use-bar${isTwo && index === 0 ? ' before' : ''}` },
    el('i', { style: `width:${((sumOf(own, index).price / peak) * 100).toFixed(1)}%` })))) : null),
    el('td', { class: 'number' }, change(own, (sum) => sum.count)),
    labels.map((_, index) => el('td', { class: 'number' }, monthly(sumOf(own, index).price))));
  const total = row('All', '', nodes);
  total.classList.add('total');
  const heads = ['Nodes', ...labels.map((label) => (isTwo ? `$ a month ${label}` : '$ a month'))];
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Cost by NodePool and zone' }, el('table', { class: 'places' },
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'NodePool and zone'), el('th', { scope: 'col', class: 'wide' }, 'Cost'),
      heads.map((word) => el('th', { scope: 'col', class: 'number' }, word)))),
    el('tbody', {}, places.map((place) => row(...place.split('\u0000'), of(place))), total)));
}

function sideTable() {
  const { labels, nodes } = theSide();
  const own = nodes.filter((node) => matches(node)).slice(0, TABLE_ROWS_MAX);
  const head = ['Node', 'NodePool', 'Zone', 'Instance', '$ a month', 'State', ...labels.flatMap((label) => [`CPU ${label}`, `Memory ${label}`, `Pods ${label}`])];
  const rows = own.map((node) => [node.name, node.pool, node.zone, `${node.kind} ${node.capacity}`, monthly(node.price), node.state,
    ...labels.flatMap((_, index) => (isOn(node, index)
      ? [`${percentOf(node.useCpu[index], node.cpu)}%`, `${percentOf(node.useMemory[index], node.memory)}%`, node.usePods[index]] : ['–', '–', '–']))]);
  return [table(head, rows, range(head.length).filter((index) => index === 4 || index > 5))];
}

function makeSides() {
  const places = el('div', {});
  const about = el('p', { class: 'soft' });
  const legendOf = el('div', {});
  const columns = el('div', { class: 'row columns of-sides', 'aria-hidden': 'true' });
  const show = () => {
    const isOfNodes = state.shows === 'nodes';
    sideRows.box.hidden = !isOfNodes;
    placedRows.box.hidden = isOfNodes;
    columns.classList.toggle('of-pods', !isOfNodes);
    columns.replaceChildren(...(isOfNodes
      ? [['row-name', 'Node'], ['row-state', 'State'], ['row-cell', 'CPU requested'], ['row-cell', 'Memory requested'], ['row-price', '$ a month']]
      : [['row-name', 'Pod'], ['row-state', 'State'], ['row-where', 'Node'], ['row-price', 'Requests']])
      .map(([own, word]) => el('span', { class: own }, word)));
    legendOf.replaceChildren(theSide().labels.length > 1 && isOfNodes
      ? legend([['use-key before', theSide().labels[0]], ['use-key', theSide().labels[1]]]) : '');
    places.replaceChildren(placesTable());
    about.textContent = theSide().about;
  };
  onRun.push(show);
  const sets = sides.length > 1 ? choice('Which comparison', sides.map((own, index) => [index, own.name]), 0, (own) => {
    side = own;
    for (const call of onRun) call();
  }) : null;
  const kinds = placedPods.length > 0 ? choice('What rows are', [['nodes', 'Nodes'], ['pods', 'Pods']], 'nodes', (shows) => {
    state.shows = shows;
    show();
  }) : null;
  return [
    el('section', { class: 'chart', 'aria-label': 'Cost by NodePool and zone' },
      el('div', { class: 'chart-head' }, el('h2', {}, 'Cost by NodePool and zone'), sets), about, places),
    el('section', { class: 'chart', 'aria-label': 'Nodes and pods' },
      el('div', { class: 'chart-head' }, el('h2', {}, 'Nodes and what they hold'), kinds, legendOf),
      el('div', { class: 'chart-frame' }, columns, sideRows.box, placedRows.box), tableOf(sideTable)),
  ];
}
