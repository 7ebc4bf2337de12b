//! Equal values held once: names, labels and pod specifications recur thousands of times.

use std::cell::RefCell;
use std::hash::Hash;
use std::sync::Arc;

use domain::Text;
use domain::label::Labels;
use domain::pod::PodSpec;
use rustc_hash::FxHashSet;

/// The values seen so far. Asking for an equal value gives the same allocation.
#[derive(Debug, Default)]
pub struct Interner {
    texts: RefCell<FxHashSet<Text>>,
    labels: RefCell<FxHashSet<Arc<Labels>>>,
    pod_specs: RefCell<FxHashSet<Arc<PodSpec>>>,
}

impl Interner {
    /// The string, shared.
    pub fn text(&self, text: &str) -> Text {
        let mut pool = self.texts.borrow_mut();
        if let Some(known) = pool.get(text) {
            return known.clone();
        }
        let fresh = Text::from(text);
        pool.insert(fresh.clone());
        fresh
    }

    /// The labels, shared.
    pub fn labels(&self, labels: Labels) -> Arc<Labels> {
        shared(&self.labels, labels)
    }

    /// The pod specification, shared.
    pub fn pod_spec(&self, spec: PodSpec) -> Arc<PodSpec> {
        shared(&self.pod_specs, spec)
    }
}

fn shared<T: Eq + Hash>(pool: &RefCell<FxHashSet<Arc<T>>>, value: T) -> Arc<T> {
    let mut pool = pool.borrow_mut();
    if let Some(known) = pool.get(&value) {
        return known.clone();
    }
    let fresh = Arc::new(value);
    pool.insert(fresh.clone());
    fresh
}
