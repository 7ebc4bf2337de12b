//! The relaxations that nodes for some pods are packed with.

use std::sync::OnceLock;

use domain::settings::SearchEffort;

use crate::feasibility::scope::Scope;
use crate::ids::ShapeIx;
use crate::packing::Search;
use crate::packing::relaxed::PackingRelaxation;
use crate::relaxation::Budget;
use crate::work::{Item, LeastByZone};

/// Relaxations, each solved when it is first asked for. Who asks while another thread is solving it
/// waits for that one.
pub(super) struct Relaxations<'p, 'm, 'a> {
    scope: Scope<'m, 'a>,
    /// By shape, the pods that wait.
    pods: &'p [(ShapeIx, u32)],
    least_by_zone: Vec<LeastByZone>,
    budget: &'static Budget,
    is_bounded: bool,
    solved: OnceLock<Option<PackingRelaxation>>,
    of_items: OnceLock<Option<PackingRelaxation>>,
}

impl<'p, 'm, 'a> Relaxations<'p, 'm, 'a> {
    /// None is solved yet. Of a plan that is held against a bound, this is proved ahead.
    pub(super) fn new(
        scope: Scope<'m, 'a>,
        pods: &'p [(ShapeIx, u32)],
        least_by_zone: Vec<LeastByZone>,
        budget: &'static Budget,
        is_bounded: bool,
    ) -> Self {
        let (solved, of_items) = (OnceLock::new(), OnceLock::new());
        Self { scope, pods, least_by_zone, budget, is_bounded, solved, of_items }
    }

    /// By shape, the pods that wait.
    pub(super) fn pods(&self) -> &[(ShapeIx, u32)] {
        self.pods
    }

    /// The one for these pods, whatever placement chooses for them. `None` where no new node
    /// could host any of them.
    pub(super) fn solved(&self) -> Option<&PackingRelaxation> {
        let Self { scope, pods, least_by_zone, budget, .. } = self;
        let solve = || PackingRelaxation::solve(*scope, pods, least_by_zone, budget);
        self.solved.get_or_init(solve).as_ref()
    }

    /// How nodes for items are searched for: with the relaxation for the pods, or where more time
    /// may be spent and that one leaves open what placement has settled, for the items.
    pub(super) fn search(&self, items: &[Item]) -> Search<'_> {
        if items.is_empty() {
            return Search::Quick;
        }
        let known = self.solved().filter(|own| own.is_solved());
        let is_quick = self.scope.model.snapshot.settings.search_effort == SearchEffort::Quick;
        let is_enough = is_quick || known.is_some_and(|own| own.tells_apart(self.scope, items));
        let own = if is_enough {
            known
        } else {
            let solve = || PackingRelaxation::solve_items(self.scope, items, self.budget);
            self.of_items.get_or_init(solve).as_ref().filter(|own| own.is_solved())
        };
        own.map_or(Search::Alone, Search::With)
    }

    /// Solves the relaxation, and proves the bound that will be asked for if all pods get a place,
    /// as most often they do.
    pub(super) fn solve_ahead(&self) {
        let Some(solved) = self.solved() else { return };
        if self.is_bounded {
            let mut pods = self.pods.to_vec();
            pods.sort_unstable();
            solved.prove(self.scope.model, pods, self.budget);
        }
    }

    /// The one for pods, if anybody has asked for it.
    pub(super) fn into_solved(self) -> Option<PackingRelaxation> {
        self.solved.into_inner().flatten()
    }
}
