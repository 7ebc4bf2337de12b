// A list of any length: only rows that can be seen are in the document.

const OVERSCAN = 6;

/**
 * A listbox. `render(item)` makes a row's content, and `describe(item)` what a screen reader says
 * after it; `named(item)` is what it is a row of; `open(item, list)` is what a click and Enter do. Items with `head` are headings.
 */
class Rows {
  constructor({ label, className, render, describe, named, open }) {
    Object.assign(this, { render, describe, named, open });
    this.items = [];
    this.shown = new Map();
    this.active = -1;
    this.space = el('div', { class: 'rows-space', role: 'presentation' });
    this.box = el('div', { class: `rows ${className}`, role: 'listbox', tabindex: '0', 'aria-label': label }, this.space);
    this.prefix = newId();
    this.update = framed(() => this.paint());
    this.box.addEventListener('scroll', this.update, { passive: true });
    this.box.addEventListener('keydown', (event) => this.keydown(event));
    this.box.addEventListener('click', (event) => {
      const row = event.target.closest('[data-index]');
      if (!row) return;
      this.activate(Number(row.dataset.index), false);
      this.open(this.items[this.active], this.box);
    });
    this.box.addEventListener('focus', () => {
      if (this.active < 0) this.activate(this.next(-1, 1), false);
    });
    new ResizeObserver(() => {
      this.measure();
      this.repaint();
    }).observe(this.box);
  }

  get height() {
    return parseFloat(getComputedStyle(this.box).getPropertyValue('--row')) || 28;
  }

  setItems(items) {
    const before = this.items[this.active];
    this.items = items;
    this.positions = [];
    let position = 0;
    for (const item of items) this.positions.push(item.head ? 0 : (position += 1));
    this.count = position;
    this.box.classList.toggle('is-empty', position === 0);
    this.active = before ? items.findIndex((item) => item.key !== undefined && item.key === before.key) : -1;
    this.repaint();
  }

  /** Keeps charts in line with rows, beside which there may be a scroll bar. */
  measure() {
    if (!this.box.hidden) root.style.setProperty('--bar', `${this.box.offsetWidth - this.box.clientWidth}px`);
  }

  /** Draws all rows anew. */
  repaint() {
    for (const row of this.shown.values()) row.remove();
    this.shown.clear();
    this.paint();
  }

  paint() {
    const height = this.height;
    this.space.style.height = `${this.items.length * height}px`;
    const first = Math.max(0, Math.floor(this.box.scrollTop / height) - OVERSCAN);
    const last = Math.min(this.items.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / height) + OVERSCAN);
    for (const [index, row] of this.shown) {
      if (index < first || index >= last) {
        row.remove();
        this.shown.delete(index);
      }
    }
    const added = document.createDocumentFragment();
    for (let index = first; index < last; index += 1) {
      if (this.shown.has(index)) continue;
      const row = this.row(index, height);
      this.shown.set(index, row);
      added.append(row);
    }
    this.space.append(added);
    this.mark();
    this.measure();
  }

  row(index, height) {
    const item = this.items[index];
    const style = `top:${index * height}px`;
    if (item.head) return el('div', { class: 'row head', style, 'aria-hidden': 'true' }, this.render(item));
    return el('div', {
      class: 'row', style, role: 'option', id: `${this.prefix}-${index}`, 'data-index': index,
      'aria-posinset': this.positions[index], 'aria-setsize': this.count, 'aria-selected': 'false',
      'data-name': this.named(item).name,
    }, this.render(item), el('span', { class: 'spoken' }, `, ${this.describe(item)}`));
  }

  mark() {
    for (const [index, row] of this.shown) {
      if (row.hasAttribute('data-index')) row.setAttribute('aria-selected', String(index === this.active));
    }
    if (this.shown.has(this.active)) this.box.setAttribute('aria-activedescendant', `${this.prefix}-${this.active}`);
    else this.box.removeAttribute('aria-activedescendant');
  }

  /** The nearest row that is no heading. */
  next(index, step) {
    let found = index + step;
    while (this.items[found] && this.items[found].head) found += step;
    return this.items[found] ? found : index;
  }

  activate(index, scrolls = true) {
    if (!this.items[index] || this.items[index].head) return;
    this.active = index;
    const height = this.height;
    if (scrolls) {
      const top = index * height;
      const head = this.items[index - 1] && this.items[index - 1].head ? height : 0;
      if (top - head < this.box.scrollTop) this.box.scrollTop = top - head;
      else if (top + height > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + height - this.box.clientHeight;
    }
    this.paint();
  }

  keydown(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1);
    const jump = (from, step) => {
      const near = Math.min(this.items.length - 1, Math.max(0, from));
      return this.items[near] && !this.items[near].head ? near : this.next(near, step);
    };
    const moves = {
      ArrowDown: () => this.next(this.active, 1),
      ArrowUp: () => this.next(this.active, -1),
      PageDown: () => jump(this.active + page, 1),
      PageUp: () => jump(this.active - page, -1),
      Home: () => this.next(-1, 1),
      End: () => this.next(this.items.length, -1),
    };
    if (moves[event.key]) {
      event.preventDefault();
      this.activate(moves[event.key]());
    } else if ((event.key === 'Enter' || event.key === ' ') && this.items[this.active]) {
      event.preventDefault();
      this.open(this.items[this.active], this.box);
    }
  }
}
