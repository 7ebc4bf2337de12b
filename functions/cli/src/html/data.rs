//! The data block of a page: one JSON document in the page itself, from which its script draws.
//!
//! It is compact, since a day of a hundred nodes has to fit into a page that can be mailed: tables
//! are columns of whole numbers, and texts stand once, in `texts`, and are meant by their place.
//! It is no contract: the script that reads it is in the same page. `-o json` is for programs.

mod lives;
mod series;
mod sides;
mod texts;

use serde::Serialize;
use simulation::history::History;
use simulation::report::Report;

pub(crate) use lives::RunBlock;
pub(crate) use sides::{PodRow, PodTable, SideBlock, SideNode};
pub(crate) use texts::Texts;

/// What a page is about, as its script reads it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageData {
    /// The command: `simulate`, `plan`, `top`, ….
    kind: &'static str,
    /// What is shown first: the name of a node or of a pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    focus: Option<String>,
    /// Runs over time, laid over each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: Vec<RunBlock>,
    /// Clusters at one moment, or before and after something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sides: Vec<SideBlock>,
    /// The pods of `sides`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pods: Option<PodTable>,
    /// All texts.
    texts: Texts,
}

impl PageData {
    /// Of a command, without anything yet.
    pub(crate) fn new(kind: &'static str) -> Self {
        Self {
            kind,
            focus: None,
            runs: Vec::new(),
            sides: Vec::new(),
            pods: None,
            texts: Texts::default(),
        }
    }

    /// Adds a run under a name.
    pub(crate) fn add_run(&mut self, name: &str, report: &Report, history: &History) {
        let run = RunBlock::new(name, report, history, &mut self.texts);
        self.runs.push(run);
    }

    /// Adds a comparison.
    pub(crate) fn add_side(&mut self, make: impl FnOnce(&mut Texts) -> SideBlock) {
        let side = make(&mut self.texts);
        self.sides.push(side);
    }

    /// Sets the pods of all comparisons.
    pub(crate) fn set_pods(&mut self, rows: &[PodRow<'_>]) {
        self.pods = Some(PodTable::new(rows, &mut self.texts));
    }

    /// Has a node or a pod shown first.
    pub(crate) fn focus_on(&mut self, name: impl Into<String>) {
        self.focus = Some(name.into());
    }

    /// As it stands in a `script` element: no `<`, so that no name can close the element.
    pub(crate) fn block(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string(self)?.replace('<', "\\u003c"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_run_becomes_columns_and_texts() {
        let mut data = PageData::new("simulate");
        data.add_run("as it is", &testing::report(), &testing::history());
        let block: serde_json::Value = serde_json::from_str(&data.block().unwrap()).unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&block).unwrap());
    }

    #[test]
    fn no_name_closes_the_script_element() {
        let mut history = testing::history();
        history.nodes[0].name = "</script><script>alert(1)</script><!--".into();
        let mut data = PageData::new("simulate");
        data.add_run("</SCRIPT>", &testing::report(), &history);
        let block = data.block().unwrap();
        assert!(!block.contains('<'), "{block}");
        let read: serde_json::Value = serde_json::from_str(&block).unwrap();
        let texts = read["texts"].as_array().unwrap();
        assert!(texts.iter().any(|text| text == "</script><script>alert(1)</script><!--"));
    }
}
