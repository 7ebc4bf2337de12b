//! Arguments of the commands that switch an installed cluster.

use clap::Args;

/// Where a cluster's switches are.
#[derive(Clone, Debug, Args)]
pub(crate) struct SwitchPlace {
    /// The context of the kubeconfig; the current one without it
    #[arg(long, value_name = "NAME", conflicts_with = "table")]
    pub(crate) context: Option<String>,
    /// The installation's DynamoDB table, instead of the cluster: works while its API server does
    /// not
    #[arg(long, value_name = "NAME", requires = "cluster")]
    pub(crate) table: Option<String>,
    /// The cluster, with --table
    #[arg(long, value_name = "NAME", requires = "table")]
    pub(crate) cluster: Option<String>,
}

/// `outrigger pause`.
#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    pub(crate) place: SwitchPlace,
    /// Go on replacing and draining nodes that EC2 interrupts
    #[arg(long)]
    pub(crate) except_interruptions: bool,
}

/// `outrigger observe`, `resume` and `status`.
#[derive(Debug, Args)]
pub(crate) struct SwitchArgs {
    #[command(flatten)]
    pub(crate) place: SwitchPlace,
}

/// `outrigger fuses`.
#[derive(Debug, Args)]
pub(crate) struct FusesArgs {
    #[command(flatten)]
    pub(crate) place: SwitchPlace,
    /// The most launches in a minute
    #[arg(long, value_name = "N")]
    pub(crate) max_launches_per_tick: Option<u32>,
    /// The most launches in an hour
    #[arg(long, value_name = "N")]
    pub(crate) max_launches_per_hour: Option<u32>,
    /// The share of instances that may begin to end in a minute
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) max_terminations_per_tick_percent: Option<u32>,
    /// What all instances may cost together, dollars an hour; 0 for no bound
    #[arg(long, value_name = "USD")]
    pub(crate) max_hourly_usd: Option<f64>,
    /// Go back to the installation's own
    #[arg(long)]
    pub(crate) reset: bool,
}

/// `outrigger end-orphans`.
#[derive(Debug, Args)]
pub(crate) struct EndOrphansArgs {
    #[command(flatten)]
    pub(crate) place: SwitchPlace,
    /// For how many minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(1..=1440))]
    pub(crate) minutes: u32,
}

/// `outrigger take-over`.
#[derive(Debug, Args)]
pub(crate) struct TakeOverArgs {
    /// The context of the kubeconfig; the current one without it
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The installation that the cluster is to belong to: output `InstallationId` of its stack
    #[arg(long, value_name = "NAME/UUID")]
    pub(crate) installation: String,
}

/// `outrigger uninstall`.
#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// The context of the kubeconfig; the current one without it
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    #[command(flatten)]
    pub(crate) nodes: NodesArgs,
}

/// What becomes of the nodes: exactly one flag. All fields of this struct belong to its group.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct NodesArgs {
    /// Leave all nodes running, and nobody to manage them
    #[arg(long = "keep-nodes")]
    keep: bool,
    /// Delete all NodePools, and wait until the functions have drained and ended every node
    #[arg(long = "drain-nodes")]
    drain: bool,
}

/// What becomes of the nodes of a cluster that is let go of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodesFate {
    Keep,
    Drain,
}

#[cfg_attr(
    not(any(feature = "live", test)),
    expect(dead_code, reason = "without clients no cluster is let go of")
)]
impl NodesArgs {
    /// None unless exactly one is chosen: nodes are never drained by default.
    pub(crate) fn fate(&self) -> Option<NodesFate> {
        match (self.keep, self.drain) {
            (true, false) => Some(NodesFate::Keep),
            (false, true) => Some(NodesFate::Drain),
            (false, false) | (true, true) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command};

    fn uninstall(line: &str) -> Option<UninstallArgs> {
        let words = ["outrigger", "uninstall"].into_iter().chain(line.split_whitespace());
        match Arguments::try_parse_from(words).ok()?.command? {
            Command::Uninstall(args) => Some(args),
            other => panic!("{other:?} is no uninstall"),
        }
    }

    #[test]
    fn a_context_goes_with_either_choice_of_what_becomes_of_the_nodes() {
        for (line, fate) in [
            ("--keep-nodes --context prod", NodesFate::Keep),
            ("--context prod --drain-nodes", NodesFate::Drain),
        ] {
            let args = uninstall(line).unwrap();
            assert_eq!(args.nodes.fate(), Some(fate), "{line}");
            assert_eq!(args.context.as_deref(), Some("prod"), "{line}");
        }
    }

    #[test]
    fn what_becomes_of_the_nodes_is_chosen_and_chosen_once() {
        for wrong in ["", "--context prod", "--keep-nodes --drain-nodes"] {
            assert!(uninstall(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn nodes_are_not_drained_by_default() {
        assert_eq!(NodesArgs { keep: false, drain: false }.fate(), None);
    }
}
