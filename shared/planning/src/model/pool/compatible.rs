//! What a NodePool may launch under requirements.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::label;
use domain::nearest::nearest;
use domain::reason::NodePoolUnfit;
use domain::requirement::ValueSet;
use domain::spot::PodInterruption;

use super::launchable::{Compatible, Pool, Purchase};
use crate::ids::{PurchaseSet, TypeSet, ZoneSet};
use crate::model::daemon::NODE_NAME_FIELD;
use crate::model::intern::{ConjunctionId, KeyKind, KeyRule, Sets};
use crate::model::interruption::named;
use crate::model::memo::Memo;

impl Pool<'_> {
    /// Whatever the pool may launch, before the requirements of any pod.
    pub(crate) fn everything(&self) -> Compatible {
        self.all.clone()
    }

    /// The same for a node without pods: what its interruption costs, no pod says.
    pub(crate) fn everything_usual(&self) -> Compatible {
        let mut left = self.all.clone();
        let usual = self.bought_for.get(&named(PodInterruption::default()));
        left.purchases &= usual.copied().unwrap_or(PurchaseSet::ALL);
        left
    }

    /// What the pool may launch under requirements, or the first of them that rules everything out.
    pub(crate) fn narrowed(
        &self,
        conjunction: ConjunctionId,
        key_kinds: &BTreeMap<Text, KeyKind>,
        memo: &Memo,
    ) -> Result<Compatible, NodePoolUnfit> {
        if let Some(unfit) = &self.unfit {
            return Err(unfit.clone());
        }
        let mut left = self.all.clone();
        let rules = memo.sets().rules(conjunction);
        for rule in rules.iter() {
            self.narrow(&mut left, rule, key_kinds, memo)?;
        }
        left.types.intersect_with(&memo.viable(self, left.zones, left.purchases));
        if left.types.is_empty() {
            return Err(NodePoolUnfit::NoOffering);
        }
        Ok(left)
    }

    /// Narrows what is left by one rule: on zones, ways of buying, types or labels that are open,
    /// whichever decides the key.
    pub(crate) fn narrow(
        &self,
        left: &mut Compatible,
        rule: &KeyRule,
        key_kinds: &BTreeMap<Text, KeyKind>,
        memo: &Memo,
    ) -> Result<(), NodePoolUnfit> {
        let wanted = memo.sets().get(rule.set);
        match key_kinds.get(&rule.key) {
            Some(KeyKind::Zone) => {
                let zones = self.zones_where(|zone| wanted.contains(zone));
                self.narrow_zones(left, zones, rule, &wanted)
            }
            Some(KeyKind::ZoneId) => {
                let zones = self.zones_where(|zone| match self.zone_ids.get(zone) {
                    Some(zone_id) => wanted.contains(zone_id),
                    None => rule.may_be_absent,
                });
                self.narrow_zones(left, zones, rule, &wanted)
            }
            Some(KeyKind::CapacityType) => {
                let purchases = self
                    .purchases_where(|purchase| wanted.contains(purchase.capacity_type.as_str()));
                self.narrow_purchases(left, purchases, rule, &wanted)
            }
            Some(KeyKind::Reservation) => {
                let purchases = self.purchases_where(|purchase| {
                    let reservation = purchase.reservation.as_ref();
                    reservation
                        .and_then(|reservation| reservation.label(&rule.key))
                        .map_or(rule.may_be_absent, |value| wanted.contains(value))
                });
                self.narrow_purchases(left, purchases, rule, &wanted)
            }
            Some(KeyKind::InstanceType { .. }) => self.narrow_types(left, rule, memo),
            Some(KeyKind::Interruption) => {
                left.purchases &= self.bought_for(&wanted);
                Ok(())
            }
            Some(KeyKind::Region) => self.check_label(rule, self.region.as_ref(), &wanted),
            Some(KeyKind::Hostname) => check_unknown_name(rule, &wanted),
            None if &*rule.key == NODE_NAME_FIELD => check_unknown_name(rule, &wanted),
            None => match self.fixed.get(&rule.key) {
                Some(value) => self.check_label(rule, Some(value), &wanted),
                None => self.narrow_open(left, rule, memo),
            },
        }
    }

    fn zones_where(&self, keep: impl Fn(&Text) -> bool) -> ZoneSet {
        let zones = self.zones.iter_enumerated().take(ZoneSet::MAX_LEN);
        zones.filter(|(_, zone)| keep(zone)).map(|(index, _)| index).collect()
    }

    fn purchases_where(&self, keep: impl Fn(&Purchase) -> bool) -> PurchaseSet {
        let purchases = self.purchases.iter_enumerated().take(PurchaseSet::MAX_LEN);
        purchases.filter(|(_, purchase)| keep(purchase)).map(|(index, _)| index).collect()
    }

    /// Ways of buying that pods may use of which this decides what their interruptions cost.
    fn bought_for(&self, known_as: &ValueSet) -> PurchaseSet {
        let known = known_as.single().and_then(|known_as| self.bought_for.get(known_as));
        known.copied().unwrap_or(PurchaseSet::ALL)
    }

    /// A rule that takes the last zone away is the one to name; an earlier one was named already.
    fn narrow_zones(
        &self,
        left: &mut Compatible,
        zones: ZoneSet,
        rule: &KeyRule,
        wanted: &ValueSet,
    ) -> Result<(), NodePoolUnfit> {
        let before = left.zones;
        left.zones &= zones;
        if left.zones.is_empty() && !before.is_empty() {
            return Err(self.label_unfit(rule, wanted));
        }
        Ok(())
    }

    fn narrow_purchases(
        &self,
        left: &mut Compatible,
        purchases: PurchaseSet,
        rule: &KeyRule,
        wanted: &ValueSet,
    ) -> Result<(), NodePoolUnfit> {
        let before = left.purchases;
        left.purchases &= purchases;
        if left.purchases.is_empty() && !before.is_empty() {
            return Err(self.label_unfit(rule, wanted));
        }
        Ok(())
    }

    fn label_unfit(&self, rule: &KeyRule, wanted: &ValueSet) -> NodePoolUnfit {
        let pool = match &*rule.key {
            label::ZONE => self.offered_zones(),
            label::CAPACITY_TYPE => {
                let mut words: Vec<&str> =
                    self.purchases.iter().map(|purchase| purchase.capacity_type.as_str()).collect();
                words.sort_unstable();
                words.dedup();
                format!("In [{}]", words.join(" ")).into()
            }
            key => self
                .own
                .get(key)
                .map(|own| own.values.to_string())
                .or_else(|| self.fixed.get(key).map(|value| format!("In {value}")))
                .unwrap_or_else(|| "none".to_owned())
                .into(),
        };
        NodePoolUnfit::Label { key: rule.key.clone(), pod: wanted.to_string().into(), pool }
    }

    fn offered_zones(&self) -> Text {
        let offerings = self.types.iter().flat_map(|one| &one.offerings);
        let offered: ZoneSet = offerings.map(|offering| offering.zone).collect();
        let names: Vec<&str> = self
            .zones
            .iter_enumerated()
            .filter(|(index, _)| offered.contains(*index))
            .map(|(_, zone)| &**zone)
            .collect();
        format!("In [{}]", names.join(" ")).into()
    }

    fn check_label(
        &self,
        rule: &KeyRule,
        own: Option<&Text>,
        wanted: &ValueSet,
    ) -> Result<(), NodePoolUnfit> {
        if own.is_some_and(|own| wanted.contains(own)) {
            return Ok(());
        }
        Err(self.label_unfit(rule, wanted))
    }

    fn narrow_types(
        &self,
        left: &mut Compatible,
        rule: &KeyRule,
        memo: &Memo,
    ) -> Result<(), NodePoolUnfit> {
        let sets = &mut *memo.sets_mut();
        let combined = self.combined_with_own(rule, sets);
        let meeting = memo.types_meeting(self, &combined, sets);
        if left.types.is_disjoint(&meeting) {
            let wanted = sets.get(rule.set);
            let values = self.values_among(&left.types, &rule.key);
            let near: BTreeSet<&str> = wanted
                .as_list()
                .into_iter()
                .flatten()
                .flat_map(|value| nearest(value, values.iter().copied(), 1))
                .collect();
            return Err(NodePoolUnfit::NoInstanceType {
                requirement: format!("{} {wanted}", rule.key).into(),
                offered: a_few_of(&values),
                nearest: near.into_iter().map(Text::from).collect(),
            });
        }
        left.types.intersect_with(&meeting);
        if let Some(open) = left.open.iter_mut().find(|open| open.key == rule.key) {
            *open = combined;
        } else if self.has_several_values(&rule.key) {
            let index = left.open.partition_point(|open| open.key < rule.key);
            left.open.insert(index, combined);
        }
        Ok(())
    }

    /// What types have of a label.
    fn values_among(&self, types: &TypeSet, key: &Text) -> BTreeSet<&str> {
        types
            .iter()
            .flat_map(|index| self.types[index].instance_type.labels.get(key).into_iter().flatten())
            .map(|value| &**value)
            .collect()
    }

    fn has_several_values(&self, key: &Text) -> bool {
        self.types
            .iter()
            .any(|one| one.instance_type.labels.get(key).is_some_and(|values| values.len() > 1))
    }

    /// The rule together with what the pool itself requires of the key.
    fn combined_with_own(&self, rule: &KeyRule, sets: &mut Sets) -> KeyRule {
        let Some(own) = self.own.get(&rule.key) else { return rule.clone() };
        let own_set = sets.set(own.values.clone());
        KeyRule {
            key: rule.key.clone(),
            set: sets.intersection(rule.set, own_set),
            may_be_absent: rule.may_be_absent && own.may_be_absent,
        }
    }

    /// Types of which some value of the label is in the set, or that may lack it.
    pub(crate) fn types_meeting(&self, rule: &KeyRule, sets: &Sets) -> TypeSet {
        let wanted = sets.get(rule.set);
        let mut meeting = TypeSet::full(self.types.len());
        meeting.retain(|index| match self.types[index].instance_type.labels.get(&rule.key) {
            Some(values) => values.iter().any(|value| wanted.contains(value)),
            None => rule.may_be_absent,
        });
        meeting
    }

    fn narrow_open(
        &self,
        left: &mut Compatible,
        rule: &KeyRule,
        memo: &Memo,
    ) -> Result<(), NodePoolUnfit> {
        let sets = &mut *memo.sets_mut();
        let Some(index) = left.open.iter().position(|open| open.key == rule.key) else {
            return if rule.may_be_absent {
                Ok(())
            } else {
                let pod = sets.get(rule.set).to_string().into();
                Err(NodePoolUnfit::UndefinedLabel { key: rule.key.clone(), pod })
            };
        };
        let set = sets.intersection(left.open[index].set, rule.set);
        let may_be_absent = left.open[index].may_be_absent && rule.may_be_absent;
        if sets.get(set).is_empty() && !may_be_absent {
            return Err(self.label_unfit(rule, &sets.get(rule.set)));
        }
        left.open[index] = KeyRule { key: rule.key.clone(), set, may_be_absent };
        Ok(())
    }

    /// What the pool may launch where both hold; `None` where nothing is left.
    pub(crate) fn both(&self, a: &Compatible, b: &Compatible, memo: &Memo) -> Option<Compatible> {
        let sets = &mut *memo.sets_mut();
        let mut types = a.types.clone();
        types.intersect_with(&b.types);
        let (zones, purchases) = (a.zones & b.zones, a.purchases & b.purchases);
        let mut open = a.open.clone();
        for rule in &b.open {
            match open.iter_mut().find(|own| own.key == rule.key) {
                Some(own) => {
                    let set = sets.intersection(own.set, rule.set);
                    let is_narrower = own.set != set || own.may_be_absent && !rule.may_be_absent;
                    own.may_be_absent &= rule.may_be_absent;
                    if is_narrower {
                        own.set = set;
                        if sets.get(set).is_empty() && !own.may_be_absent {
                            return None;
                        }
                        if self.has_several_values(&rule.key) {
                            types.intersect_with(&memo.types_meeting(self, own, sets));
                        }
                    }
                }
                None => open.push(rule.clone()),
            }
        }
        open.sort_by(|a, b| a.key.cmp(&b.key));
        if zones != a.zones
            || purchases != a.purchases
            || zones != b.zones
            || purchases != b.purchases
        {
            types.intersect_with(&memo.viable(self, zones, purchases));
        }
        (!types.is_empty()).then_some(Compatible { types, zones, purchases, open })
    }
}

/// Values as a list that ends after a few.
fn a_few_of(values: &BTreeSet<&str>) -> Text {
    const SHOWN_MAX: usize = 6;
    if values.is_empty() {
        return "no such label".into();
    }
    let shown: Vec<&str> = values.iter().copied().take(SHOWN_MAX).collect();
    match values.len() - shown.len() {
        0 => shown.join(", ").into(),
        more => format!("{} and {more} more values", shown.join(", ")).into(),
    }
}

/// Nobody can list the name that a new node will have; everybody can exclude others.
fn check_unknown_name(rule: &KeyRule, wanted: &ValueSet) -> Result<(), NodePoolUnfit> {
    if wanted.as_list().is_none() {
        return Ok(());
    }
    Err(NodePoolUnfit::Label {
        key: rule.key.clone(),
        pod: wanted.to_string().into(),
        pool: "names that are not known before launch".into(),
    })
}
