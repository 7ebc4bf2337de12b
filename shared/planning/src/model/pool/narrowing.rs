//! Where nodes of a pool have more room for pods than they have everywhere.

use std::collections::BTreeMap;

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label;
use domain::requirement::Requirement;

use super::launchable::Pool;
use super::local_room::{Amounts, LocalRoom, Narrowing};
use crate::ids::{PurchaseSet, ZoneIx, ZoneSet};
use crate::model::intern::KeyKind;

impl Pool<'_> {
    /// Where types have more room than everywhere, the least narrow first.
    pub(crate) fn narrowings(&self, key_kinds: &BTreeMap<Text, KeyKind>) -> &[Narrowing] {
        let LocalRoom { daemons, found, .. } = &self.local_room;
        if daemons.is_empty() {
            return &[];
        }
        found.get_or_init(|| {
            let everywhere = self.local_requests(key_kinds, &[], None);
            let more = |zones: &[ZoneIx], bought| {
                difference(&everywhere, &self.local_requests(key_kinds, zones, bought))
            };
            // Zones in which the same is left are one choice, as far as that holds for all of them.
            let mut alike: Vec<(Amounts, Vec<ZoneIx>)> = Vec::new();
            for (zone, _) in self.zones_in(ZoneSet::ALL) {
                let own = more(&[zone], None);
                match alike.iter_mut().find(|(other, _)| *other == own) {
                    Some((_, zones)) => zones.push(zone),
                    None => alike.push((own, vec![zone])),
                }
            }
            let mut sets: Vec<Vec<ZoneIx>> = vec![Vec::new()];
            sets.extend(alike.into_iter().map(|(_, zones)| zones).filter(|own| own.len() > 1));
            sets.extend(self.zones_in(ZoneSet::ALL).map(|(zone, _)| vec![zone]));
            let bought = || std::iter::once(None).chain(CapacityType::ALL.map(Some));
            let all = bought().flat_map(|own| sets.iter().map(move |zones| (zones, own)));
            let narrowings = all.map(|(zones, bought)| Narrowing {
                zones: if zones.is_empty() {
                    ZoneSet::ALL
                } else {
                    zones.iter().copied().collect()
                },
                purchases: bought.map_or(PurchaseSet::ALL, |own| self.bought_as(own)),
                more: more(zones, bought),
            });
            narrowings.filter(|own| own.more.iter().flatten().any(|more| *more > 0)).collect()
        })
    }

    /// What local DaemonSets take of each type in some zones, or in all if none is named, bought in
    /// one way or in any.
    fn local_requests(
        &self,
        key_kinds: &BTreeMap<Text, KeyKind>,
        zones: &[ZoneIx],
        bought: Option<CapacityType>,
    ) -> Amounts {
        let LocalRoom { daemons, own, .. } = &self.local_room;
        let mut own = own.clone();
        if !zones.is_empty() {
            let zones = zones.iter().map(|zone| self.zone(*zone).clone());
            own.add(&Requirement::is_in(label::ZONE, zones));
        }
        if let Some(bought) = bought {
            own.add(&Requirement::is_in(label::CAPACITY_TYPE, [bought.as_str().into()]));
        }
        let requests = |instance_type, width| {
            daemons.overhead_on(instance_type, &own, key_kinds, width).requests
        };
        self.types.iter().map(|own| requests(own.instance_type, own.room.len())).collect()
    }
}

fn difference(all: &Amounts, some: &Amounts) -> Amounts {
    let of_type = |(all, some): (&Vec<i64>, &Vec<i64>)| -> Vec<i64> {
        all.iter().zip(some).map(|(all, some)| all - some).collect()
    };
    all.iter().zip(some).map(of_type).collect()
}
