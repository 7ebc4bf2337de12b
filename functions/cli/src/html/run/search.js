// A search over names, types, zones and NodePools: bars and rows that do not match go.

const searched = runs.length > 0 || placedPods.length > 0 ? 'Search nodes and pods' : 'Search nodes';
const searchBox = el('input', { type: 'search', id: 'search', placeholder: searched, 'aria-label': searched, autocomplete: 'off', spellcheck: 'false' });
const found = el('span', { class: 'found soft', role: 'status' });

const wordsOf = (query) => query.toLowerCase().split(/\s+/).filter(Boolean);

/** What a node is found by; made once. */
function searchText(item) {
  if (item.found === undefined) {
    item.found = [item.name, item.claim, item.pool, item.zone, item.kind, item.capacity, item.state, item.went, item.came]
      .filter(Boolean).join(' ').toLowerCase();
  }
  return item.found;
}

function matches(item) {
  const own = searchText(item);
  return wordsOf(state.query).every((word) => own.includes(word));
}

/** Nodes that match by themselves or hold a pod whose name does, and pods that match or are on such a node. */
function filter() {
  const words = wordsOf(state.query);
  if (runs.length > 0) {
    const run = theRun();
    const pods = run.pods.filter(matches);
    const holders = new Set(words.length ? pods.map((pod) => pod.node) : []);
    const nodes = run.nodes.filter((node) => matches(node) || holders.has(node.index));
    showNodes(nodes);
    showPods(pods);
    tellFound(nodes.length, run.nodes.length, pods.length, run.pods.length);
  } else {
    const pods = placedPods.filter(matches);
    const holders = new Set(words.length ? pods.flatMap((pod) => [pod.from, pod.to]) : []);
    const nodes = theSide().nodes.filter((node) => matches(node) || holders.has(node.name));
    showSide(nodes);
    showPlaced(pods);
    tellFound(nodes.length, theSide().nodes.length, pods.length, placedPods.length);
  }
}

function tellFound(nodes, ofNodes, pods, ofPods) {
  found.textContent = state.query
    ? `${inWhole.format(nodes)} of ${counted(ofNodes, 'node')}${ofPods ? `, ${inWhole.format(pods)} of ${counted(ofPods, 'pod')}` : ''}`
    : `${counted(ofNodes, 'node')}${ofPods ? `, ${counted(ofPods, 'pod')}` : ''}`;
}

function makeSearch() {
  const apply = framed(filter);
  searchBox.addEventListener('input', () => {
    state.query = searchBox.value;
    apply();
  });
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest && event.target.closest('input, textarea, select');
    if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      searchBox.focus();
    }
  });
  onRun.push(filter);
  return el('div', { class: 'search' }, searchBox, found);
}
