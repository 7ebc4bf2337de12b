//! Subnets and security groups, by selector terms.
//!
//! Terms are alternatives; within a term all must match
//! (<https://karpenter.sh/docs/concepts/nodeclasses/#specsubnetselectorterms>).

use std::collections::BTreeMap;

use aws::budget::Bucket;
use aws_sdk_ec2::types::Filter;
use controllers::ports::PortError;
use controllers::status::ResolvedSecurityGroup;
use domain::Text;
use domain::node_class::{ResolvedSubnet, SelectorTerm};
use futures_util::future::try_join_all;

use super::client::Ec2;
use super::filter::{filter, tag_filters};
use crate::calls::ec2;

const ITEMS_A_PAGE: i32 = 1000;

/// A subnet and its free addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SubnetFacts {
    pub(super) subnet: ResolvedSubnet,
    /// Free addresses, as EC2 counts them.
    pub(super) free_addresses: i64,
}

impl Ec2 {
    /// The subnets that the terms select, those with most free addresses first, by id among equals.
    pub(super) async fn select_subnets(
        &self,
        terms: &[SelectorTerm],
    ) -> Result<Vec<SubnetFacts>, PortError> {
        let calls = filters(terms, "subnet-id").into_iter().map(|filters| self.subnets(filters));
        let found = try_join_all(calls).await?;
        let by_id: BTreeMap<Text, SubnetFacts> =
            found.into_iter().flatten().map(|own| (own.subnet.id.clone(), own)).collect();
        let mut subnets: Vec<SubnetFacts> = by_id.into_values().collect();
        subnets.sort_by_key(|own| std::cmp::Reverse(own.free_addresses));
        Ok(subnets)
    }

    /// The subnets that match all filters.
    pub(super) async fn subnets(
        &self,
        filters: Vec<Filter>,
    ) -> Result<Vec<SubnetFacts>, PortError> {
        let pages = self
            .calls
            .ec2
            .describe_subnets()
            .set_filters(Some(filters))
            .into_paginator()
            .page_size(ITEMS_A_PAGE)
            .send();
        let pages = self.calls.pages(Bucket::Describe, ec2("DescribeSubnets"), pages).await?;
        let found = pages.iter().flat_map(|page| page.subnets());
        Ok(found
            .filter_map(|own| {
                let subnet = ResolvedSubnet {
                    id: own.subnet_id()?.into(),
                    zone: own.availability_zone()?.into(),
                    zone_id: own.availability_zone_id().map(Text::from),
                };
                let free_addresses = own.available_ip_address_count().unwrap_or_default().into();
                Some(SubnetFacts { subnet, free_addresses })
            })
            .collect())
    }

    /// The security groups that the terms select, by id.
    pub(super) async fn select_security_groups(
        &self,
        terms: &[SelectorTerm],
    ) -> Result<Vec<ResolvedSecurityGroup>, PortError> {
        let calls = filters(terms, "group-id").into_iter().map(|filters| async {
            let pages = self
                .calls
                .ec2
                .describe_security_groups()
                .set_filters(Some(filters))
                .into_paginator()
                .page_size(ITEMS_A_PAGE)
                .send();
            self.calls.pages(Bucket::Describe, ec2("DescribeSecurityGroups"), pages).await
        });
        let found = try_join_all(calls).await?;
        let mut groups: Vec<ResolvedSecurityGroup> = found
            .iter()
            .flatten()
            .flat_map(|page| page.security_groups())
            .filter_map(|own| {
                let name = own.group_name().map(Text::from);
                Some(ResolvedSecurityGroup { id: own.group_id()?.into(), name })
            })
            .collect();
        groups.sort();
        groups.dedup();
        Ok(groups)
    }
}

/// The filters of each call: one call for all ids together, and one for each other term.
fn filters(terms: &[SelectorTerm], id_filter: &str) -> Vec<Vec<Filter>> {
    let ids: Vec<String> =
        terms.iter().filter_map(|term| term.id.as_ref()).map(ToString::to_string).collect();
    let by_id = (!ids.is_empty()).then(|| vec![filter(id_filter, ids)]);
    let others = terms.iter().filter(|term| term.id.is_none()).map(|term| {
        let name = term.name.as_deref().map(|name| filter("group-name", [name]));
        name.into_iter().chain(tag_filters(&term.tags)).collect()
    });
    by_id.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::label::Labels;

    fn shown(filters: &[Filter]) -> Vec<String> {
        filters
            .iter()
            .map(|own| format!("{}={}", own.name().unwrap(), own.values().join(",")))
            .collect()
    }

    #[test]
    fn ids_are_asked_for_together_and_every_other_term_by_itself() {
        let id = |id: &str| SelectorTerm { id: Some(id.into()), ..SelectorTerm::default() };
        let tags = Labels::from([
            ("env".into(), "prod".into()),
            ("karpenter.sh/discovery".into(), "*".into()),
        ]);
        let tagged = SelectorTerm { tags, ..SelectorTerm::default() };
        let named = SelectorTerm { name: Some("nodes".into()), ..SelectorTerm::default() };
        let calls = filters(&[id("sg-1"), tagged, id("sg-2"), named], "group-id");
        let calls: Vec<_> = calls.iter().map(|own| shown(own)).collect();
        assert_eq!(calls[0], ["group-id=sg-1,sg-2"]);
        assert_eq!(calls[1], ["tag:env=prod", "tag-key=karpenter.sh/discovery"]);
        assert_eq!(calls[2], ["group-name=nodes"]);
    }
}
