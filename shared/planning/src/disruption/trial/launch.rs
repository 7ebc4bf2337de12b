//! The new nodes of a trial as NodeClaims.

use domain::plan::PlannedNodeClaim;
use domain::reason::NodePoolUnfit;

use super::{Trial, Trials};
use crate::feasibility::limits::Limits;
use crate::ids::NodeIx;
use crate::model::Model;
use crate::model::pool::MinValuesUnmet;
use crate::scheduling::claim::{Names, claim};
use crate::scheduling::launched;
use crate::work::NewNode;

/// The new nodes of a trial as claims.
#[derive(Default)]
pub(crate) struct Launch {
    /// The claims.
    pub(crate) claims: Vec<PlannedNodeClaim>,
    /// Why one of the nodes has no claim: limits leave its pool too few values for `minValues`.
    refused: Option<NodePoolUnfit>,
}

impl Trials<'_, '_> {
    /// The new nodes of a trial without `nodes`, as claims: all of them, which count against limits
    /// from here on, or none. The error says what a pool falls short of: limits may leave it too
    /// few types for `minValues`.
    pub(crate) fn launch(
        &mut self,
        nodes: &[NodeIx],
        trial: &Trial,
        names: &mut Names,
    ) -> Result<Vec<PlannedNodeClaim>, NodePoolUnfit> {
        let before = self.launched.len();
        let launch = self.launch_where_possible(nodes, trial, names);
        match launch.refused {
            Some(unfit) => {
                self.launched.truncate(before);
                Err(unfit)
            }
            None => Ok(launch.claims),
        }
    }

    /// The new nodes of a trial without `nodes`, as claims, except those that a pool cannot launch.
    /// They count against limits from here on.
    pub(crate) fn launch_where_possible(
        &mut self,
        nodes: &[NodeIx],
        trial: &Trial,
        names: &mut Names,
    ) -> Launch {
        let mut limits = self.limits_with(nodes, trial);
        let mut launch = Launch::default();
        for packed in &trial.packed {
            if let Some(claim) = claim(self.model, self.scope.memo, packed, &mut limits, names) {
                self.launched.push(launched(self.model, packed.pool, &claim));
                let pods = packed.members.iter().flat_map(|member| member.pods.iter().copied());
                let virtual_pods = pods.filter(|pod| self.model.pod(*pod).virtual_of.is_some());
                self.relocated.extend(virtual_pods.map(|pod| (pod, claim.name.clone())));
                launch.claims.push(claim);
            } else if launch.refused.is_none() {
                let unfit = min_values_unmet(self.model, packed, &limits);
                launch.refused = Some(unfit.unwrap_or(NodePoolUnfit::NoOffering));
            }
        }
        launch.claims.sort_by(|a, b| a.name.cmp(&b.name));
        launch
    }
}

/// Which of its pool's `minValues` a node that limits refuse falls short of.
fn min_values_unmet(model: &Model, packed: &NewNode, limits: &Limits) -> Option<NodePoolUnfit> {
    let pool = &model.pools[packed.pool];
    let compatible = &packed.compatible;
    let mut types = pool.with_room(&compatible.types, &packed.requests);
    limits.keep_allowed(packed.pool, pool, &mut types);
    let unmet = pool.min_values_unmet(&types, compatible.zones, compatible.purchases)?;
    let MinValuesUnmet { key, wanted, found } = unmet;
    Some(NodePoolUnfit::MinValues { key, wanted, found })
}
