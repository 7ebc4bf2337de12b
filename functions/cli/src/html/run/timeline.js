// Nodes and pods as bars over time.

const STATES = [['launched', 'booting'], ['joining', 'joining'], ['ready', 'ready'], ['draining', 'draining']];
const POD_STATES = [['pending', 'pending'], ['ready', 'on a node']];
let uses = [];

const between = (from, until) => {
  const left = (from / lengthMax) * 100;
  return `left:${left.toFixed(3)}%;width:max(2px,${(((until - from) / lengthMax) * 100).toFixed(3)}%)`;
};

const at = (moment) => (moment < 0 ? '–' : `+${duration(moment)}`);

function nodeRow({ node }) {
  const use = uses[node.index];
  const isThere = stateAt(node, state.moment) !== '';
  return [
    el('span', { class: 'row-name', title: node.name }, nameOf(shortName(node.name)),
      el('span', { class: 'row-kind' }, ` ${node.kind} ${node.capacity}`)),
    el('span', { class: 'row-use' }, isThere && use ? `${percentOf(Math.max(use.cpu, 0), node.cpu)}%` : ''),
    el('span', { class: 'lane', title: describeNode({ node }) }, node.stretches.map((own) => el('i', { class: own.state, style: between(own.from, own.until) }))),
  ];
}

function describeNode({ node }) {
  const parts = [node.pool, node.zone, `launched ${at(node.launched)}`];
  if (node.ready >= 0) parts.push(`ready ${at(node.ready)}`);
  if (node.draining >= 0) parts.push(`draining ${at(node.draining)}`);
  parts.push(node.gone < 0 ? 'there at the end' : `gone ${at(node.gone)}`);
  if (node.went) parts.push(node.went);
  return parts.join(', ');
}

function podRow({ pod }) {
  const end = theRun().length;
  const until = pod.ended < 0 ? end : pod.ended;
  const bars = [];
  const bound = pod.bound < 0 ? until : pod.bound;
  if (bound > pod.created) bars.push(el('i', { class: 'pending', style: between(pod.created, bound) }));
  if (pod.bound >= 0) bars.push(el('i', { class: 'ready', style: between(pod.bound, until) }));
  return [
    el('span', { class: 'row-name', title: pod.name }, nameOf(pod.name)),
    el('span', { class: 'row-use' }, pod.bound < 0 ? '' : roughly(pod.bound - pod.created)),
    el('span', { class: 'lane' }, bars),
  ];
}

function describePod({ pod }) {
  const node = pod.node < 0 ? '' : theRun().nodes[pod.node].name;
  return [`made ${at(pod.created)}`, pod.bound < 0 ? 'never on a node' : `on ${node} ${at(pod.bound)}`,
    pod.ended < 0 ? 'there at the end' : `${pod.how} ${at(pod.ended)}`].join(', ');
}

/** A heading in front of each group of items, in order of `group`. */
function grouped(items, group, heading) {
  const groups = new Map();
  for (const item of items) {
    const key = group(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return [...groups.keys()].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap((key) => [{ head: true, words: heading(key, groups.get(key)) }, ...groups.get(key)]);
}

/** The name that pods have in common. */
const workloadOf = (stem) => stem.replace(/-$/, '');

/** Words between which a line breaks, the first of them a name. */
const headWords = (words) => [el('bdi', {}, words[0]), ...words.slice(1).map((word) => el('span', { class: 'soft' }, ` ${word}`))];

function openNode(node, from) {
  const run = theRun();
  const use = usesAt(run, state.moment)[node.index];
  const end = node.gone < 0 ? run.length : node.gone;
  const own = stateAt(node, state.moment);
  const here = node.pods.filter((pod) => isBetween(pod.bound, pod.ended, state.moment));
  const life = dollars((Math.max(0, node.price) / 1e9) * ((end - node.launched) / 36000));
  openDetail('Node', node.name, [
    el('p', { class: 'states' }, el('span', { class: `chip ${own}` }, own === 'launched' ? 'booting' : own || 'not there'),
      ` ${momentText(state.moment)}`),
    facts([
      ['NodePool', node.pool], ['Zone', node.zone], ['Instance', `${node.kind} ${node.capacity}`],
      ['NodeClaim', node.claim ? nameOf(node.claim) : ''],
      ['Price', node.price < 0 ? 'not known' : `${hourly(node.price)}, ${monthly(node.price)} a month`],
      ['In this run', node.price < 0 ? '' : life],
    ]),
    el('h3', {}, 'Its life'),
    facts([
      ['Launched', `${at(node.launched)}${node.came ? `, ${node.came}` : ''}`],
      ['Joined', node.joined < 0 ? '' : at(node.joined)],
      ['Ready', node.ready < 0 ? '' : `${at(node.ready)}, ${duration(node.ready - node.launched)} after its launch`],
      ['Draining', node.draining < 0 ? '' : `${at(node.draining)}${node.went ? `, ${node.went}` : ''}`],
      ['Gone', node.gone < 0 ? 'no: it is there at the end' : `${at(node.gone)}${node.draining < 0 && node.went ? `, ${node.went}` : ''}`],
    ]),
    own ? el('h3', {}, 'What pods request of it then') : null,
    own ? meter('CPU', use.cpu, node.cpu, cpuText) : null,
    own ? meter('Memory', use.memory, node.memory, memoryText) : null,
    listOf('Pods on it then', here, openPod),
    listOf('All pods that it held', node.pods, openPod),
  ].filter(Boolean), from);
}

function openPod(pod, from) {
  const node = pod.node < 0 ? null : theRun().nodes[pod.node];
  const waited = pod.bound < 0 ? (pod.ended < 0 ? theRun().length : pod.ended) - pod.created : pod.bound - pod.created;
  openDetail('Pod', pod.name, [
    facts([
      ['Requests', `${cpuText(pod.cpu)} CPU, ${memoryText(pod.memory)}`],
      ['Kind', pod.isDaemon ? 'of a DaemonSet, or static' : ''],
      ['Made', at(pod.created)],
      ['Waited', pod.bound < 0 ? `${duration(waited)}, and never got a node` : duration(waited)],
      ['On', node ? linkTo(node, openNode) : ''],
      ['Since', pod.bound < 0 ? '' : at(pod.bound)],
      ['Ended', pod.ended < 0 ? 'no: it is there at the end' : `${at(pod.ended)}, ${pod.how}`],
      ['Why it waited', pod.why],
    ]),
  ], from);
}

const nodeRows = new Rows({ label: 'Nodes over time', className: 'over-time', render: (item) => (item.head ? headWords(item.words) : nodeRow(item)), describe: describeNode, named: (item) => item.node, open: (item, list) => openNode(item.node, list) });
const podRows = new Rows({ label: 'Pods over time', className: 'over-time', render: (item) => (item.head ? headWords(item.words) : podRow(item)), describe: describePod, named: (item) => item.pod, open: (item, list) => openPod(item.pod, list) });

function showNodes(nodes) {
  nodeRows.setItems(grouped(
    nodes.map((node) => ({ node, key: node.name })),
    ({ node }) => `${node.pool}\u0000${node.zone}`,
    (key, items) => {
      const [pool, zone] = key.split('\u0000');
      return [pool, `· ${zone} · ${counted(items.length, 'node')}`];
    },
  ));
}

function showPods(pods) {
  podRows.setItems(grouped(
    pods.map((pod) => ({ pod, key: `${pod.name} ${pod.created}` })),
    ({ pod }) => pod.stem,
    (stem, items) => [workloadOf(stem), `· ${counted(items.length, 'pod')}`],
  ));
}

/** Moments for an axis: a handful, at round distances. */
function ticksOf(length) {
  const steps = [10, 50, 100, 300, 600, 1200, 3000, 6000, 9000, 18000, 36000, 72000, 108000, 216000, 432000, 864000, 1728000];
  const count = narrow.matches ? 4 : 9;
  const distance = steps.find((own) => length / own <= count) || Math.ceil(length / count / 864000) * 864000;
  return range(Math.floor(length / distance) + 1).map((index) => index * distance);
}

function axis() {
  const ticks = ticksOf(lengthMax).map((moment, index) => el('span', {
    style: `left:${((moment / lengthMax) * 100).toFixed(3)}%`, class: index === 0 ? 'first' : moment / lengthMax > 0.96 ? 'last' : '',
  }, moment === 0 ? '0' : `+${roughly(moment)}`));
  return el('div', { class: 'axis', 'aria-hidden': 'true' }, el('div', { class: 'axis-lane' }, ticks));
}

const legend = (states) => el('p', { class: 'legend', 'aria-hidden': 'true' }, states.map(([own, word]) => el('span', {}, el('i', { class: own }), word)));

function makeTimeline() {
  const cursor = el('div', { class: 'cursor-lane', 'aria-hidden': 'true' }, el('i', { class: 'cursor' }));
  const body = el('div', { class: 'timeline-body' }, nodeRows.box, podRows.box, cursor);
  const states = el('div', {});
  const useHead = el('span', { class: 'row-use' });
  const frame = el('div', { class: 'chart-frame' },
    el('div', { class: 'row columns', 'aria-hidden': 'true' }, el('span', { class: 'row-name' }), useHead, axis()), body);
  const update = framed(() => {
    uses = usesAt(theRun(), state.moment);
    if (state.shows === 'nodes') nodeRows.repaint();
  });
  const show = () => {
    const isOfNodes = state.shows === 'nodes';
    nodeRows.box.hidden = !isOfNodes;
    podRows.box.hidden = isOfNodes;
    states.replaceChildren(legend(isOfNodes ? STATES : POD_STATES));
    useHead.textContent = isOfNodes ? 'CPU' : 'waited';
    update();
  };
  onMoment.push(update);
  onRun.push(show);
  const tables = tableOf(() => nodeTable(theRun()));
  const left = runs.some((run) => run.leftOut[0] + run.leftOut[1] > 0)
    ? el('p', { class: 'soft' }, 'The run has more nodes or pods than fit into a page: some are left out here.') : null;
  return el('section', { class: 'chart', 'aria-label': 'Nodes and pods over time' },
    el('div', { class: 'chart-head' }, el('h2', {}, 'Nodes and pods over time'),
      choice('What bars are', [['nodes', 'Nodes'], ['pods', 'Pods']], 'nodes', (shows) => {
        state.shows = shows;
        show();
      }), states),
    frame, left, tables);
}

const TABLE_ROWS_MAX = 500;

function nodeTable(run) {
  const nodes = run.nodes.filter((node) => matches(node)).slice(0, TABLE_ROWS_MAX);
  const head = ['Node', 'NodePool', 'Zone', 'Instance', '$/hour', 'Launched', 'Why', 'Ready', 'Draining', 'Gone', 'Why'];
  const rows = nodes.map((node) => [node.name, node.pool, node.zone, `${node.kind} ${node.capacity}`, hourly(node.price),
    at(node.launched), node.came, at(node.ready), at(node.draining), at(node.gone), node.went]);
  const note = run.nodes.length > nodes.length ? `${counted(nodes.length, 'node')} of ${run.nodes.length}: search for fewer` : '';
  return [table(head, rows, [4, 5, 7, 8, 9]), note ? el('p', { class: 'soft' }, note) : null].filter(Boolean);
}
