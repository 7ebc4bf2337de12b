//! Equal values held once: names, labels and pod specifications recur thousands of times.

use std::cell::RefCell;
use std::hash::Hash;
use std::sync::Arc;

use domain::Text;
use domain::label::Labels;
use domain::pod::PodSpec;
use rustc_hash::FxHashSet;

/// The values interned so far: equal values share one allocation.
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

    /// Forgets what nobody holds any longer, for whoever reads on for hours.
    pub fn forget_unused(&self) {
        // Specifications and labels hold texts.
        self.pod_specs.borrow_mut().retain(|spec| Arc::strong_count(spec) > 1);
        self.labels.borrow_mut().retain(|labels| Arc::strong_count(labels) > 1);
        self.texts.borrow_mut().retain(|text| Arc::strong_count(text) > 1);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_holds_stays_shared_and_the_rest_is_forgotten() {
        let interner = Interner::default();
        let held = interner.text("held");
        let gone = Arc::downgrade(&interner.text("gone"));
        interner.forget_unused();
        assert!(Arc::ptr_eq(&held, &interner.text("held")));
        assert_eq!(gone.strong_count(), 0);
    }
}
