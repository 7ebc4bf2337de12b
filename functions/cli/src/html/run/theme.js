// Light, dark, or as the system has it.

const THEMES = ['auto', 'light', 'dark'];
const THEME_KEY = 'outrigger-theme';

/** What a page that was opened before chose; storage may be forbidden to pages of files. */
function storedTheme() {
  try {
    const stored = localStorage.getItem(THEME_KEY);
    return THEMES.includes(stored) ? stored : 'auto';
  } catch {
    return 'auto';
  }
}

function setTheme(theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // Then it holds for this page only.
  }
}

function addThemeButton() {
  let theme = storedTheme();
  const label = () => `Theme: ${theme}`;
  const button = el('button', { type: 'button', class: 'quiet', id: 'theme' }, label());
  button.addEventListener('click', () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    setTheme(theme);
    button.textContent = label();
  });
  setTheme(theme);
  document.getElementById('tools').append(button);
}
