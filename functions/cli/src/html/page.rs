//! The frame of a page, and figures in it.
//!
//! A page stands by itself: style and script are in it, and it asks nobody for anything, which its
//! content security policy holds browsers to. Without its script it is a summary with tables.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::html::data::PageData;
use crate::visible::visible_html;

/// Our own style sheets, the same for every page.
const STYLE: &str = concat!(
    include_str!("style.css"),
    include_str!("run/run.css"),
    include_str!("run/timeline.css"),
    include_str!("run/curves.css"),
    include_str!("run/detail.css"),
);

/// Our own script, in the order in which its parts need each other; run by itself, since it stands
/// in one function.
const SCRIPT: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("run/core.js"),
    include_str!("run/data.js"),
    include_str!("run/theme.js"),
    include_str!("run/detail.js"),
    include_str!("run/rows.js"),
    include_str!("run/clock.js"),
    include_str!("run/timeline.js"),
    include_str!("run/curves.js"),
    include_str!("run/sides.js"),
    include_str!("run/search.js"),
    include_str!("run/start.js"),
    "})();\n",
);

/// What browsers may load: nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

/// A page in its parts.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    /// The command that it is of: `simulate`.
    pub(crate) command: &'a str,
    /// What it is about: a scenario, a cluster.
    pub(crate) subject: &'a str,
    /// The result, in a sentence.
    pub(crate) result: &'a str,
    /// What stands above the charts.
    pub(crate) lead: Markup,
    /// What stands below them: tables.
    pub(crate) tables: Markup,
    /// What charts are drawn from.
    pub(crate) data: &'a PageData,
}

impl Page<'_> {
    /// The whole document.
    pub(crate) fn render(&self) -> Result<String, serde_json::Error> {
        let Self { command, subject, result, lead, tables, data } = self;
        let block = data.block()?;
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    title { (result) " – " (subject) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header.masthead {
                        span.mark { "Outrigger" } " " span.command { (command) }
                        span #tools {}
                    }
                    main {
                        p.eyebrow { bdi { (subject) } }
                        h1 { (result) }
                        (lead)
                        div #run {}
                        (tables)
                    }
                    script type="application/json" id="data" { (PreEscaped(block)) }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        Ok(visible_html(&page.into_string()))
    }
}

/// A number of things that matters, with what they are, of one and of several.
pub(crate) fn count(count: usize, [one, many]: [&str; 2]) -> Markup {
    figure(&count.to_string(), if count == 1 { one } else { many })
}

/// A number that matters, with what it is.
pub(crate) fn figure(value: &str, what: &str) -> Markup {
    html! { div.figure { b { (value) } span { (what) } } }
}

/// A section of tables, which the script folds.
pub(crate) fn fold(title: &str, beside: &str, content: &Markup) -> Markup {
    html! {
        details.fold open {
            summary { h2 { (title) @if !beside.is_empty() { small { (beside) } } } }
            (content)
        }
    }
}

/// A sentence with a capital at its beginning.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What would make a browser ask somebody for something.
    const OUTSIDE: [&str; 8] =
        ["http:", "https:", "src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest"];

    fn page(result: &str, subject: &str) -> String {
        let data = PageData::new("plan");
        let (lead, tables) = (html! {}, html! {});
        Page { command: "plan", subject, result, lead, tables, data: &data }.render().unwrap()
    }

    #[test]
    fn a_page_needs_nothing_from_elsewhere() {
        let page = page("nothing to do", "a cluster");
        for outside in OUTSIDE {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn the_script_is_whole_and_closes_nothing() {
        let page = page("nothing to do", "a cluster");
        assert_eq!(page.matches("</script>").count(), 2);
        assert_eq!(page.matches("<script").count(), 2);
        assert!(page.contains("'use strict'"));
    }

    #[test]
    fn names_in_titles_are_escaped_and_cannot_turn_the_line() {
        let page = page("<b>saves</b>", "a\u{202e}b & c");
        assert!(page.contains("<h1>&lt;b&gt;saves&lt;/b&gt;</h1>"));
        assert!(page.contains("a\u{fffd}b &amp; c"));
    }
}
