//! The frame of a page, and figures in it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::visible::visible_html;

/// Our own style sheet, the same for every page.
const STYLE: &str = include_str!("style.css");

/// A whole document.
pub(crate) fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    };
    visible_html(&page.into_string())
}

/// A number that matters, with what it is.
pub(crate) fn figure(value: &str, what: &str) -> Markup {
    html! { div.figure { b { (value) } span { (what) } } }
}
