// Making elements, and writing numbers and moments. Texts become text nodes, never markup.

const data = JSON.parse(document.getElementById('data').textContent);
const root = document.getElementById('run');
const texts = data.texts;
/** The text at a place; nothing for -1. */
const text = (place) => (place < 0 ? '' : Array.isArray(texts[place]) ? texts[place].map(text).join('\n') : texts[place]);
/** The values of a column: `[value, count]` stands for as many of the same. */
const valuesOf = (column) => column.flatMap((own) => (Array.isArray(own) ? Array(own[1]).fill(own[0]) : own));

/** An element with attributes, listeners (`onclick`) and children; a string becomes its text. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ''));
  return made;
}

const drawing = document.createElement('template');
drawing.innerHTML = '<svg></svg>';
const drawingSpace = drawing.content.firstChild.namespaceURI;

/** An element of a drawing. */
function draw(tag, attributes = {}, ...children) {
  const made = document.createElementNS(drawingSpace, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A name that users gave: its letters may run in any direction. */
const nameOf = (name) => el('bdi', { class: 'name' }, name);

const HOURS_PER_MONTH = 730;
const inDollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const inWhole = new Intl.NumberFormat('en-US');

/** Billionths of a dollar an hour, by the hour and by the month. */
const hourly = (nanos) => (nanos < 0 ? '–' : `$${(nanos / 1e9).toFixed(4)}/h`);
const monthly = (nanos) => (nanos < 0 ? '–' : inDollars.format((nanos * HOURS_PER_MONTH) / 1e9));
const dollars = (amount) => inDollars.format(amount);
const counted = (count, noun) => `${inWhole.format(count)} ${noun}${count === 1 ? '' : 's'}`;
const percentOf = (part, whole) => (whole > 0 ? Math.floor((part * 100) / whole) : 0);

function cpuText(millis) {
  return millis % 1000 === 0 ? `${millis / 1000}` : millis >= 10000 ? (millis / 1000).toFixed(1) : `${millis}m`;
}

function memoryText(mebi) {
  return mebi >= 1024 ? `${Number((mebi / 1024).toFixed(1))}Gi` : `${mebi}Mi`;
}

/** Tenths of a second as `1h2m3s`. */
function duration(tenths) {
  let seconds = Math.max(0, Math.round(tenths / 10));
  const parts = [];
  for (const [unit, length] of [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]]) {
    const count = Math.floor(seconds / length);
    if (count > 0) parts.push(`${count}${unit}`);
    seconds -= count * length;
  }
  return parts.join('') || '0s';
}

/** The two largest units of a duration. */
function roughly(tenths) {
  return (duration(tenths).match(/\d+[dhms]/g) || ['0s']).slice(0, 2).join('');
}

/** A host's name without its domain, where EC2 gave it. */
function shortName(name) {
  return /\.(compute|ec2)\.internal$/.test(name) ? name.slice(0, name.indexOf('.')) : name;
}

/** Calls at most once a frame. */
function framed(call) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      call();
    });
  };
}

const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
const narrow = matchMedia('(max-width: 48rem)');

let lastId = 0;
const newId = () => `e${(lastId += 1)}`;
