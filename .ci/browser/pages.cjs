// Opens pages at two widths, light and dark, and asserts what a reader relies on: `pages.cjs CHROMIUM FOLDER`.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const [executablePath, folder] = process.argv.slice(2);
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];
const WIDTHS = [1280, 390];
const SCHEMES = ['light', 'dark'];
const BYTES_MAX = 2 * 1024 * 1024;
/** Milliseconds from a move of the slider, a scroll or a letter of a search until it is drawn, with 500 nodes. */
const DRAWN_WITHIN = 100;
/** Milliseconds until a page is drawn. */
const OPEN_WITHIN = 3000;

const OVER_TIME = ['consolidation', 'variants', 'seeds', 'hostile', 'wide', 'day', 'stable', 'audit'];
const OF_SIDES = ['plan', 'top', 'explain-pod', 'explain-node', 'diff'];
/** Pages that the judge of accessibility takes long over; what is special about them is their size. */
const LARGE = ['wide', 'day'];
const urlOf = (name) => `file://${path.join(folder, `${name}.html`)}`;

async function opened(browser, name, width, scheme, options = {}) {
  const context = await browser.newContext({ viewport: { width, height: width > 600 ? 900 : 800 }, colorScheme: scheme, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && wrong.push(message.text()));
  page.on('pageerror', (error) => wrong.push(error.stack));
  page.on('dialog', (dialog) => wrong.push(dialog.message()));
  page.on('request', (request) => request.url() !== urlOf(name) && wrong.push(`asks for ${request.url()}`));
  const started = Date.now();
  await page.goto(urlOf(name));
  if (options.javaScriptEnabled !== false) {
    await page.waitForSelector('html.is-drawn', { state: 'attached' });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  return { page, context, wrong, took: Date.now() - started };
}

async function hasNoOverflow(page, what) {
  const [wide, edge] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(wide <= edge, `${what}: ${wide} pixels wide in a window of ${edge}`);
}

async function isAccessible(page, what) {
  // The page's policy lets no tag load the judge; it is evaluated instead.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const serious = violations.filter((own) => ['serious', 'critical'].includes(own.impact));
  assert.deepEqual(serious.map((own) => `${own.id}: ${own.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`), [], what);
}

/** Presses Tab until the page is through, and holds what had the focus against what should have it. */
async function keyboardReachesAll(page, what) {
  const expected = await page.evaluate(() => {
    const all = [...document.querySelectorAll('button, input, summary, [tabindex="0"], select, textarea')];
    const seen = all.filter((own) => own.checkVisibility() && !own.disabled);
    seen.forEach((own, index) => { own.dataset.stop = index; });
    document.body.tabIndex = -1;
    document.body.focus();
    return seen.length;
  });
  const reached = new Set();
  for (let press = 0; press < expected + 3; press += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(() => document.activeElement.dataset.stop);
    if (stop !== undefined) reached.add(stop);
  }
  assert.equal(reached.size, expected, `${what}: Tab reaches ${reached.size} of ${expected}`);
}

async function detailOpensAndCloses(page, what) {
  const list = page.locator('.rows:visible').first();
  await list.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  const detail = page.locator('aside.detail');
  assert.ok(await detail.isVisible(), `${what}: Enter opens a detail`);
  const name = await detail.locator('h2 .name').textContent();
  const chosen = await page.locator('.row[aria-selected="true"]').getAttribute('data-name');
  assert.ok(chosen === name, `${what}: the detail of ${name} for ${chosen}`);
  assert.ok(await page.evaluate(() => document.querySelector('aside.detail').contains(document.activeElement)), `${what}: focus is in it`);
  await hasNoOverflow(page, `${what}, with a detail`);
  await isAccessible(page, `${what}, with a detail`);
  await page.keyboard.press('Escape');
  assert.ok(!(await detail.isVisible()), `${what}: Escape closes it`);
  assert.ok(await list.evaluate((own) => own === document.activeElement), `${what}: focus is back`);
  const rows = page.locator('.row[role="option"]:visible');
  const row = rows.nth(Math.min(1, (await rows.count()) - 1));
  const label = await row.getAttribute('data-name');
  await row.click();
  assert.equal(await detail.locator('h2 .name').textContent(), label, `${what}: a click opens ${label}`);
  await page.keyboard.press('Escape');
}

async function sliderMoves(page, what) {
  const slider = page.locator('input[type="range"]');
  const moment = page.locator('.moment');
  await slider.focus();
  await page.keyboard.press('Home');
  const start = await moment.textContent();
  assert.ok(start.startsWith('+0s'), `${what}: ${start}`);
  await page.keyboard.press('End');
  const end = await moment.textContent();
  assert.notEqual(start, end, what);
  assert.equal(await slider.getAttribute('aria-valuetext'), end, what);
  await page.waitForFunction(() => Number(getComputedStyle(document.getElementById('run')).getPropertyValue('--at')) > 0.99);
  await page.getByRole('button', { name: 'Event before' }).click();
  assert.notEqual(await moment.textContent(), end, `${what}: there is an event before the end`);
}

async function searchFilters(page, what) {
  const search = page.getByRole('searchbox');
  const first = await page.locator('.row[role="option"]:visible').first().getAttribute('data-name');
  const name = first;
  await search.fill(name);
  await page.waitForFunction((own) => [...document.querySelectorAll('.row[role="option"]')].filter((row) => row.checkVisibility())
    .every((row) => row.dataset.name.startsWith(own)), name);
  await page.waitForFunction(() => /^\d[\d,]* of /.test(document.querySelector('.found').textContent));
  await search.fill('there-is-nothing-of-this-name');
  await page.waitForFunction(() => document.querySelectorAll('.row[role="option"]').length === 0);
  await search.fill('');
  await page.waitForFunction((own) => [...document.querySelectorAll('.row[role="option"]')].find((row) => row.checkVisibility())?.dataset.name === own, first);
}

async function tablesStandForCharts(page, what, isLarge) {
  const folds = page.locator('details.as-table');
  const count = await folds.count();
  assert.ok(count > 0, what);
  for (let index = 0; index < count; index += 1) {
    await folds.nth(index).locator('summary').click();
    await folds.nth(index).locator('tbody tr').first().waitFor();
  }
  if (!isLarge) await isAccessible(page, `${what}, with tables`);
  await hasNoOverflow(page, `${what}, with tables`);
}

async function themeChanges(page, what) {
  const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const button = page.locator('#theme');
  const before = await colour();
  await button.click();
  const light = await colour();
  await button.click();
  const dark = await colour();
  assert.notEqual(light, dark, what);
  await button.click();
  assert.equal(await colour(), before, what);
}

async function check(browser, name, width, scheme) {
  const what = `${name}, ${width} pixels, ${scheme}`;
  const { page, context, wrong, took } = await opened(browser, name, width, scheme);
  assert.ok(took < OPEN_WITHIN, `${what}: drawn after ${took} ms`);
  await page.screenshot({ path: path.join(folder, `${name}-${width}-${scheme}.png`), fullPage: true });
  await hasNoOverflow(page, what);
  if (scheme === 'light' || !LARGE.includes(name)) await isAccessible(page, what);
  // Of what does not depend on colours, once a width is enough.
  if (scheme === 'light') {
    if (OVER_TIME.includes(name)) await sliderMoves(page, what);
    await searchFilters(page, what);
    await detailOpensAndCloses(page, what);
    await keyboardReachesAll(page, what);
    await themeChanges(page, what);
    await tablesStandForCharts(page, what, LARGE.includes(name));
  }
  assert.notEqual(await page.title(), 'owned', what);
  assert.deepEqual(wrong, [], what);
  await context.close();
}

/** A page at every width, light and dark, and without a script. */
async function checkAll(browser, name) {
  const started = Date.now();
  const { size } = fs.statSync(path.join(folder, `${name}.html`));
  assert.ok(size <= BYTES_MAX, `${name} has ${size} bytes`);
  for (const width of WIDTHS) for (const scheme of SCHEMES) await check(browser, name, width, scheme);
  await worksWithoutScript(browser, name);
  const seconds = ((Date.now() - started) / 1000).toFixed(0);
  console.log(`${name}: ${Math.ceil(size / 1024)} KiB, right at ${WIDTHS.join(' and ')} pixels, ${SCHEMES.join(' and ')}; ${seconds} s`);
}

/** Without a script there are the result, the figures and the tables. */
async function worksWithoutScript(browser, name) {
  const { page, context } = await opened(browser, name, 1280, 'light', { javaScriptEnabled: false });
  const text = await page.locator('main').innerText();
  assert.match(text, /\$\d/, `${name} without a script`);
  assert.ok(await page.locator('main td:visible').count() > 3, `${name} without a script has tables`);
  await context.close();
}

async function movesLittleWhereAsked(browser) {
  const { page, context } = await opened(browser, 'plan', 1280, 'light', { reducedMotion: 'reduce' });
  await page.locator('.row[role="option"]').first().click();
  const animation = await page.locator('aside.detail').evaluate((own) => getComputedStyle(own).animationName);
  assert.equal(animation, 'none');
  await context.close();
}

/** How long a few things take with five hundred nodes, from the deed until it is drawn. */
async function isQuick(browser) {
  const { page, context } = await opened(browser, 'wide', 1280, 'light');
  assert.match(await page.locator('.found').textContent(), /^[5-9]\d\d nodes/);
  const took = await page.evaluate(async () => {
    const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    const all = { slider: [], scroll: [], search: [] };
    const measure = async (kind, act) => {
      const started = performance.now();
      act();
      await drawn();
      all[kind].push(performance.now() - started);
    };
    const slider = document.querySelector('input[type=range]');
    const rows = document.querySelector('.rows');
    const search = document.querySelector('input[type=search]');
    for (let index = 0; index <= 40; index += 1) {
      await measure('slider', () => { slider.value = (slider.max * index) / 40; slider.dispatchEvent(new Event('input')); });
      await measure('scroll', () => { rows.scrollTop = ((rows.scrollHeight - rows.clientHeight) * index) / 40; });
    }
    for (const word of ['i', 'ip', 'ip-10', 'ip-10-0-1', 'spot', '', 'apart', 'us-east-1b', '']) {
      await measure('search', () => { search.value = word; search.dispatchEvent(new Event('input')); });
    }
    return all;
  });
  for (const [kind, times] of Object.entries(took)) {
    const sorted = [...times].sort((a, b) => a - b);
    const [median, ninth] = [sorted[sorted.length >> 1], sorted[Math.floor(sorted.length * 0.9)]];
    console.log(`with 500 nodes, ${kind}: ${median.toFixed(0)} ms, nine of ten within ${ninth.toFixed(0)} ms`);
    assert.ok(ninth < DRAWN_WITHIN, `${kind} takes ${ninth} ms`);
  }
  const rows = await page.locator('.row').count();
  assert.ok(rows < 200, `${rows} rows are in the document`);
  await context.close();
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  try {
    const left = [...OVER_TIME, ...OF_SIDES];
    const work = async () => {
      for (let name = left.shift(); name; name = left.shift()) await checkAll(browser, name);
    };
    await Promise.all([work(), work()]);
    await movesLittleWhereAsked(browser);
    await isQuick(browser);
  } finally {
    await browser.close();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
