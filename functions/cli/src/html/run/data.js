// The data block as objects: nodes and pods of runs, and of clusters at one moment.

const range = (count) => Array.from({ length: count }, (_, index) => index);

/** Nodes with the same fields in every page. */
function nodesOf(columns, more) {
  return range(columns.name.length).map((index) => ({
    index,
    isNode: true,
    name: text(columns.name[index]),
    pool: text(columns.pool[index]) || 'no NodePool',
    zone: text(columns.zone[index]) || 'no zone',
    kind: text(columns.kind[index]),
    capacity: text(columns.capacity[index]),
    price: columns.price[index],
    cpu: columns.cpu[index],
    memory: columns.memory[index],
    ...more(columns, index),
  }));
}

/** Moments of a life; those after the run's end are the end. */
function lifeOf(columns, index) {
  return {
    claim: text(columns.claim[index]),
    launched: columns.launched[index],
    joined: columns.joined[index],
    ready: columns.ready[index],
    draining: columns.draining[index],
    gone: columns.gone[index],
    came: text(columns.came[index]),
    went: text(columns.went[index]),
  };
}

/** Stretches of a node's life: which state from when until when. */
function stretchesOf(node, end) {
  const gone = node.gone < 0 ? end : node.gone;
  const marks = [['launched', node.launched], ['joining', node.joined], ['ready', node.ready], ['draining', node.draining]]
    .filter(([, at]) => at >= 0 && at <= gone);
  return marks
    .map(([state, from], index) => ({ state, from, until: index + 1 < marks.length ? marks[index + 1][1] : gone }))
    .filter((own) => own.until > own.from || marks.length === 1);
}

function podsOf(columns) {
  return range(columns.stem.length).map((index) => ({
    index,
    stem: text(columns.stem[index]),
    name: text(columns.stem[index]) + columns.rest[index],
    isDaemon: columns.daemon[index] === 1,
    cpu: columns.cpu[index],
    memory: columns.memory[index],
    created: columns.created[index],
    bound: columns.bound[index],
    node: columns.node[index],
    ended: columns.ended[index],
    how: text(columns.how[index]),
    why: text(columns.why[index]),
  }));
}

/** `[moment, value, …]` as two arrays. */
function curveOf(flat) {
  const at = [];
  const value = [];
  for (let index = 0; index < flat.length; index += 2) {
    at.push(flat[index]);
    value.push(flat[index + 1]);
  }
  return { at, value };
}

/** What a curve of steps is at a moment; undefined before its first. */
function valueAt(curve, moment) {
  let low = 0;
  let high = curve.at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve.at[middle] <= moment) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? curve.value[low - 1] : undefined;
}

const runs = (data.runs || []).map((block, index) => {
  const nodes = nodesOf(block.nodes, lifeOf);
  const pods = podsOf(block.pods);
  for (const node of nodes) {
    node.stretches = stretchesOf(node, block.length);
    node.pods = [];
  }
  for (const pod of pods) if (pod.node >= 0) nodes[pod.node].pods.push(pod);
  return {
    index,
    name: text(block.name),
    start: block.start,
    length: block.length,
    leftOut: block.leftOut,
    nodes,
    pods,
    cost: curveOf(block.cost),
    least: curveOf(block.least),
    leastInterval: block.leastInterval,
    pending: curveOf(block.pending),
    bound: curveOf(block.bound),
  };
});

const sides = (data.sides || []).map((block) => ({
  name: text(block.name),
  about: text(block.about),
  labels: block.labels.map(text),
  nodes: nodesOf(block.nodes, (columns, index) => ({
    state: text(columns.state[index]),
    said: text(columns.text[index]),
    useCpu: columns.useCpu.map((side) => side[index]),
    useMemory: columns.useMemory.map((side) => side[index]),
    usePods: columns.usePods.map((side) => side[index]),
  })),
}));

function placedPodsOf({ rest, ...packed }) {
  const columns = Object.fromEntries(Object.entries(packed).map(([name, column]) => [name, valuesOf(column)]));
  return range(rest.length).map((index) => ({
    index,
    stem: text(columns.stem[index]),
    name: text(columns.stem[index]) + rest[index],
    from: text(columns.from[index]),
    to: text(columns.to[index]),
    state: text(columns.state[index]),
    cpu: columns.cpu[index],
    memory: columns.memory[index],
    said: text(columns.text[index]),
  }));
}

const placedPods = data.pods ? placedPodsOf(data.pods) : [];

const isBetween = (from, until, moment) => from >= 0 && from <= moment && (until < 0 || until > moment);

/** How far a node is at a moment; nothing where it is not there. */
function stateAt(node, moment) {
  if (!isBetween(node.launched, node.gone, moment)) return '';
  const last = node.stretches.filter((own) => own.from <= moment).pop();
  return last ? last.state : '';
}

/** What pods on each node of a run request at a moment. */
function usesAt(run, moment) {
  const uses = run.nodes.map(() => ({ cpu: 0, memory: 0, pods: 0 }));
  for (const pod of run.pods) {
    if (pod.node < 0 || !isBetween(pod.bound, pod.ended, moment)) continue;
    const use = uses[pod.node];
    use.cpu += pod.cpu;
    use.memory += pod.memory;
    use.pods += 1;
  }
  return uses;
}
