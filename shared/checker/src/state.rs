//! Which pods are where at one moment, for rules that concern several pods together.

use domain::pod::PodKey;

use crate::eviction::Evictions;
use crate::place::{Place, PlaceId, PlaceKind};
use crate::plan_index::PlanIndex;
use crate::pods::{GroupId, PodId};

/// Pods and their places, at one moment.
pub(crate) struct State {
    /// The places that there are.
    pub(crate) places: Vec<PlaceId>,
    /// Pods whose next place the plan does not name.
    pub(crate) unplaced: Vec<PodId>,
    place_of: Vec<Option<PlaceId>>,
    is_new: Vec<bool>,
    /// By pod, whether it stays on its leaving node as long as that lasts: nobody may evict it.
    is_held: Vec<bool>,
    by_group: Vec<Vec<PodId>>,
}

impl State {
    fn empty(index: &PlanIndex<'_>, places: Vec<PlaceId>) -> Self {
        let pods = index.pods().list.len();
        let groups = index.pods().list.iter().map(|entry| entry.group + 1).max().unwrap_or(0);
        Self {
            places,
            unplaced: Vec::new(),
            place_of: vec![None; pods],
            is_new: vec![false; pods],
            is_held: vec![false; pods],
            by_group: vec![Vec::new(); groups],
        }
    }

    /// Every pod where it is or where the plan puts it, before anything is disrupted.
    pub(crate) fn after_launch(index: &PlanIndex<'_>) -> Self {
        let is_there = |kind| kind != PlaceKind::Replacement;
        let places = index.place_ids().filter(|id| is_there(index.places[*id].kind)).collect();
        let mut state = Self::empty(index, places);
        state.put_arrivals(index, |place| (&place.placed, true));
        state.put_residents(index);
        state.index_pods(index);
        state
    }

    /// The state once disrupted nodes are gone and their pods are on replacements or on nodes that
    /// stay.
    pub(crate) fn after_disruption(index: &PlanIndex<'_>, disrupted: &[bool]) -> Self {
        let places = index.place_ids().filter(|id| !disrupted[*id]).collect();
        let mut state = Self::empty(index, places);
        // What the launch placed has been judged by now: it is there already.
        state.put_arrivals(index, |place| (&place.placed, place.kind == PlaceKind::Replacement));
        state.put_arrivals(index, |place| (&place.moved_in, true));
        state.put_residents(index);
        for id in index.place_ids().filter(|id| disrupted[*id]) {
            for pod in &index.places[id].bound {
                if index.pods().pod(*pod).is_active() && state.place_of[*pod].is_none() {
                    state.unplaced.push(*pod);
                }
            }
        }
        state.index_pods(index);
        state
    }

    /// Puts pods where the plan puts them, and whether they count as new there.
    fn put_arrivals<'s>(
        &mut self,
        index: &'s PlanIndex<'_>,
        arrivals: impl Fn(&'s Place<'_>) -> (&'s Vec<PodId>, bool),
    ) {
        for id in &self.places {
            let (pods, are_new) = arrivals(&index.places[*id]);
            for pod in pods {
                self.place_of[*pod] = Some(*id);
                self.is_new[*pod] |= are_new;
            }
        }
    }

    /// Leaves all other pods where they are.
    fn put_residents(&mut self, index: &PlanIndex<'_>) {
        for id in &self.places {
            for pod in &index.places[*id].bound {
                if index.pods().pod(*pod).is_active() && self.place_of[*pod].is_none() {
                    self.place_of[*pod] = Some(*id);
                }
            }
        }
    }

    fn index_pods(&mut self, index: &PlanIndex<'_>) {
        self.hold_pods(index);
        for (pod, place) in self.place_of.iter().enumerate() {
            if place.is_some() {
                self.by_group[index.pods().group(pod)].push(pod);
            }
        }
    }

    /// Notes which pods of leaving nodes are not evicted.
    fn hold_pods(&mut self, index: &PlanIndex<'_>) {
        let leaving = self.places.iter().filter(|place| index.places[**place].is_leaving());
        let bound: Vec<PodId> =
            leaving.flat_map(|place| index.places[*place].bound.iter().copied()).collect();
        if bound.is_empty() {
            return;
        }
        let evictions = Evictions::new(index);
        for pod in bound {
            self.is_held[pod] = evictions.is_refused_for_good(index, pod);
        }
    }

    /// Every pod that has a place.
    pub(crate) fn pods(&self) -> impl Iterator<Item = PodId> + '_ {
        (0..self.place_of.len()).filter(|pod| self.place_of[*pod].is_some())
    }

    /// Pods that the plan put where they are, by name.
    pub(crate) fn new_pods(&self, index: &PlanIndex<'_>) -> Vec<PodId> {
        let mut pods: Vec<_> = self.pods().filter(|pod| self.is_new[*pod]).collect();
        let key = |pod: &PodId| -> &PodKey { &index.pods().pod(*pod).key };
        pods.sort_by(|a, b| key(a).cmp(key(b)));
        pods
    }

    /// Whether the plan put the pod where it is.
    pub(crate) fn is_new(&self, pod: PodId) -> bool {
        self.is_new[pod]
    }

    /// Whether the pod is on its way out with its node, and the plan gives it no other place.
    pub(crate) fn is_going(&self, index: &PlanIndex<'_>, pod: PodId) -> bool {
        let is_leaving = |place: PlaceId| index.places[place].is_leaving();
        !self.is_new[pod] && !self.is_held[pod] && self.place_of[pod].is_some_and(is_leaving)
    }

    /// Where the pod is.
    pub(crate) fn place_of(&self, pod: PodId) -> Option<PlaceId> {
        self.place_of[pod]
    }

    /// Pods of label groups, with their places.
    pub(crate) fn members<'s>(
        &'s self,
        groups: impl Iterator<Item = GroupId> + 's,
    ) -> impl Iterator<Item = (PodId, PlaceId)> + 's {
        groups
            .flat_map(|group| self.by_group[group].iter().copied())
            .filter_map(|pod| self.place_of[pod].map(|place| (pod, place)))
    }
}
