//! Which images a node class selects.

use domain::Text;
use domain::node_class::{Ec2NodeClass, ResolvedAmi, SelectorTerm};

use crate::seed::Seed;

/// The images that a node class selects, in order of preference: those that its status names, those
/// that its terms name, or one that other terms would not find.
pub(crate) fn resolved_images(seed: Seed, class: &Ec2NodeClass) -> Vec<ResolvedAmi> {
    if !class.status.amis.is_empty() {
        return class.status.amis.clone();
    }
    let image =
        |id: Text| ResolvedAmi { id, name: None, is_deprecated: false, requirements: Vec::new() };
    let terms = &class.spec.ami_selector_terms;
    let named: Vec<ResolvedAmi> =
        terms.iter().filter_map(|own| own.id.clone()).map(image).collect();
    if !named.is_empty() {
        return named;
    }
    let words = |term: &SelectorTerm| {
        let SelectorTerm { tags, id: _, name, owner, alias, ssm_parameter, .. } = term;
        format!("{tags:?} {name:?} {owner:?} {alias:?} {ssm_parameter:?}")
    };
    let words: Vec<String> = terms.iter().map(words).collect();
    vec![image(format!("ami-{}", seed.draw("image", &words.join(" ")).hex(17)).into())]
}
